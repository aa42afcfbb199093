"""What was used and what it costs, as folds over the log."""
