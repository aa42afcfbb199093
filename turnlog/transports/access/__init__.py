"""Who may come in: by which token, ticket or origin, how often, and until when."""
