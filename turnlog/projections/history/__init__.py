"""What the model is told, the rules that this must obey, and the repairs."""
