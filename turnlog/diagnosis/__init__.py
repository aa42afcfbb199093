"""What the API sent, and what became of it: recorded by one command, compared by another."""
