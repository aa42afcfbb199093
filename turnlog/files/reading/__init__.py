"""What runs in a worker process: files that nobody trusts, made into pages, pixels and text."""
