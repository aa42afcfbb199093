"""Live events between nodes in PostgreSQL, where there is no Redis."""
