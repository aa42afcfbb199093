"""How much of the log the model is told: how large that is, when it moves, what is told before."""
