"""turnlog beside a floor: the same work by hand, measured to the client's socket."""
