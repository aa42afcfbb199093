"""`turnlog bench`: what a turn costs, and how a server does under load. `all.py` runs it."""
