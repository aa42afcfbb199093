"""What people do besides asking: they make and change sessions, decide, and judge answers."""
