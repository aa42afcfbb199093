"""The companies that a new sandbox holds."""
