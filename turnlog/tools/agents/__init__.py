"""What agents have: their tools for each turn, their checks at the start, their typed answers."""
