"""Why a file is not taken, in a sentence for the user."""


class Refused(Exception):
    """The file cannot be read; the sentence says why."""
