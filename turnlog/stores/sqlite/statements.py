"""The SQL that only SQLite has."""

from turnlog.statements import read_statements

SQL = read_statements("turnlog.stores.sqlite")
