"""Other people's protocols, each a table from the steps of a turn to its own events.

`story` is what they share: our events, live or from the log, as steps that are always whole.
`reading` is the same for what is over. `carries` says what each protocol can and cannot take.
"""
