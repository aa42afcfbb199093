"""Moments of a test, instead of those that all sessions share."""


class Ticks:
    """They come when the test says so."""

    def __init__(self, seconds=0.05):
        self.seconds = seconds
        self.waiting = []

    def call(self, call):
        self.waiting.append(call)

    def tick(self):
        waiting, self.waiting = self.waiting, []
        self.waiting += [call for call in waiting if call()]
