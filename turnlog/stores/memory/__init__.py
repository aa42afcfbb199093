"""Everything in memory: for tests and trials."""
