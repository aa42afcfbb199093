"""What a turn costs, and how a server does under load. `make bench` runs it."""
