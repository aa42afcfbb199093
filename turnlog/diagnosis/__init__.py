"""Records what the API sends, and compares it with the events that we make of it."""
