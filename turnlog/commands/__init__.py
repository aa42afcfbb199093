"""What `turnlog COMMAND` does: each command a function, with its arguments declared below it."""
