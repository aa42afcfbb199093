"""The SQL that only PostgreSQL has."""

from turnlog.statements import numbered, read_statements

SQL = read_statements("turnlog.stores.postgres")
__all__ = ["SQL", "numbered"]
