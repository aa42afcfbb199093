"""The books of a company: its rows, and the rules by which they change."""
