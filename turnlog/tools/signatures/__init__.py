"""What a function says about itself: its type hints, its docstring, and what `@tool` declares."""
