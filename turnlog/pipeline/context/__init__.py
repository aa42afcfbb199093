"""What stage 1 works with: the windows of sessions, how they move, and what stands before them."""
