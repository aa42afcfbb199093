"""The server process, and how it deals with its connections."""
