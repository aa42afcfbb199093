"""What is asked for over HTTP, one module each. `routes.py` says by which path, and who may."""
