"""turnlog: an agent server whose every step is an event in a gap-free log."""
