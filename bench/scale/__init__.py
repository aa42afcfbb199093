"""Many machines: what they cost, how they heal, and what is full next. For docs/scale.md."""
