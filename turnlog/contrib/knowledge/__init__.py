"""The library of a user or a team: documents that are read, found again and cited."""
