"""A text that is long enough to be interrupted: some ten seconds at the usual pace."""

TEXT = "\n".join(
    [
        "I am a simulated Claude, and this is my only story.",
        *(
            f"On day {day} the clerk wrote line {day} into the ledger, and never crossed one out."
            for day in range(1, 81)
        ),
    ]
)
