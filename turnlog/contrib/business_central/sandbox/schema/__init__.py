"""API v2.0's entities and their fields, as data; values on the wire."""
