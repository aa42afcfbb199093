"""The rules that the Messages API holds a history to, each a small function that finds places."""
