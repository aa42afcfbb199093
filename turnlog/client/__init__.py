"""For Python programs that talk to a turnlog server."""
