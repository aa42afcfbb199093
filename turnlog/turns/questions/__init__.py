"""What may be asked, how often, what it would cost, and whether it was asked before."""
