"""What a user looks for in questions and answers, and how far back that is looked for.

The log is not indexed by words: that would double what a turn writes. A search reads the user's
newest texts, and the bounds below say how many, whatever is in them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import msgspec

from turnlog.events.rows.record import Record

BOUNDS = {
    "sessions": 200,  # the user's newest
    "events": 100,  # the newest of each session: among them are its questions and answers
    "size": 4_000_000,  # bytes of questions and answers, as the log has them, in all
    "archives": 50,  # files, the newest sessions' first: those have 4 MB in all, unpacked
}
SAID = ("user_message_sent", "message")

Text = tuple[str, bytes]  # a session, and the body of a question or an answer in it


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Body(msgspec.Struct):
    content: str = ""  # of a question
    blocks: list[_Block] = []  # of an answer

    def text(self) -> str:
        return self.content or "".join(b.text for b in self.blocks if b.type == "text")


_DECODER = msgspec.json.Decoder(_Body)


def sessions_with(words: str, texts: Iterable[Text]) -> set[str]:
    """The sessions whose texts hold the words, in whatever case."""
    sought = words.casefold()
    found: set[str] = set()
    for session_id, body in texts:
        if session_id not in found and sought in _text(body).casefold():
            found.add(session_id)
    return found


def _text(body: bytes) -> str:
    """Empty where it was erased, or cannot be read, which `turnlog verify` tells."""
    try:
        return _DECODER.decode(body).text()
    except ValueError:
        return ""


def is_said(row: Record) -> bool:
    return row.type in SAID and not row.is_internal


def newest(logs: Iterable[Sequence[Record]]) -> Iterator[Text]:
    """Of logs in memory, the newest session's first: as `list_newest_texts` has it in SQL."""
    bounded = list(logs)[: BOUNDS["sessions"]]
    rows = [row for log in bounded for row in reversed(log[-BOUNDS["events"] :]) if is_said(row)]
    for row, size in zip(rows, accumulate(len(row.body) for row in rows), strict=True):
        if size <= BOUNDS["size"]:
            yield row.session_id, row.body
