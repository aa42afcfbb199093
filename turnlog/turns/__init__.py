"""Turns in the world: running, waiting for people, followed, recovered, limited."""
