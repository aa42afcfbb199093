"""How much of an answer is read. The provider may be broken, or be somebody else.

A limit that an honest answer comes near would be worse than none: these are many times of what
`max_tokens` allows. What the provider's own tools find is no part of `max_tokens`, so that the
bytes of a stream have a limit of their own.
"""

from turnlog.engines.claude.errors import TOO_MUCH, failed

MOST_FRAME = 16_000_000  # bytes of one event
MOST_ERROR = 64_000  # bytes of the body of an error; the rest is not read
MOST_COUNT = 64_000  # bytes of the answer to a question for a number
MOST_BLOCKS = 10_000  # of one answer
_STREAM, _STREAM_A_TOKEN = 32_000_000, 512  # bytes; most of a small event is its frame
_TEXT, _TEXT_A_TOKEN = 20_000, 32  # characters; a token has four of them


class Meter:
    """What one answer may still have. Raises EngineFailed where it is more."""

    def __init__(self, max_tokens: int) -> None:
        self._bytes = _STREAM + _STREAM_A_TOKEN * max_tokens
        self._text = _TEXT + _TEXT_A_TOKEN * max_tokens
        self._blocks = MOST_BLOCKS

    def read(self, size: int) -> None:
        """So many bytes came."""
        self._bytes -= size
        if self._bytes < 0:
            raise failed(TOO_MUCH)

    def wrote(self, size: int) -> None:
        """So many characters are a part of the answer."""
        self._text -= size
        if self._text < 0:
            raise failed(TOO_MUCH)

    def began_block(self) -> None:
        self._blocks -= 1
        if self._blocks < 0:
            raise failed(TOO_MUCH)
