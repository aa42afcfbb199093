"""The connection to Business Central: signing in, asking, retrying, and what its refusals mean."""
