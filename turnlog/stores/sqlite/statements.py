"""The SQL that only SQLite has."""

from turnlog.stores.sql.statements import read_statements

SQL = read_statements("turnlog.stores.sqlite")
