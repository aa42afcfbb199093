"""For those who test against turnlog: the contracts of its ports, and golden pages."""
