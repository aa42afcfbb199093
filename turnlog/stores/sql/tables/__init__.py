"""Each table on a connection: a function is one step of a transaction."""
