"""Golden pages: read, performed on a real server, and compared with what was seen."""
