"""Live events, from the process that runs a turn to those who watch it."""
