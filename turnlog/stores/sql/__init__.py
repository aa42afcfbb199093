"""What every SQL store decides, on a connection: written once, for SQLite and PostgreSQL."""
