"""What ships beside the server: demo agents and their sandboxes. The core imports none of it."""
