"""What mends a broken rule: each a small function from a request to a body, minimal and total."""
