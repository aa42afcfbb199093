"""The JSON of kept events, spliced from their rows of the log: a reload reads no content.

Each class below is a kind of event as its row holds it, for what clients see of it: `Raw` is
copied as it lies there, a default stands for a field that is younger than the row. Then it gets
its envelope, and a page is encoded at once. Kinds without a class, and answers with more to tell
than their words, are decoded and encoded: `wire.encode` says how an event looks, and a test
compares the two.
"""

from collections.abc import Sequence
from decimal import Decimal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from turnlog.events.content import TokenUsage
from turnlog.events.kinds import KINDS
from turnlog.events.rows.erasure import shown
from turnlog.events.rows.record import BareRecord
from turnlog.transports import wire

NULL, EMPTY = Raw(b"null"), Raw(b"[]")
NOTHING = (UNSET, UNSET, UNSET)


class Part(msgspec.Struct, rename="camel", tag_field="type", kw_only=True, gc=False):
    """What a client sees of a row: the fields of its kind, and its envelope, which is added."""

    event_id: Raw = NULL  # its value, and behind it all that follows in the envelope


class Question(Part, tag="user_message_sent"):
    message_id: Raw
    content: Raw
    files: Raw = EMPTY


class Thought(Part, tag="thinking"):
    message_id: Raw
    content: Raw
    block_index: Raw = Raw(b"0")
    duration: Raw = NULL
    thinking_tokens: int | UnsetType = UNSET
    redacted: Raw = Raw(b"false")


class Call(Part, tag="tool_use"):
    tool_use_id: Raw
    tool_name: Raw
    args: Raw


class Result(Part, tag="tool_result", omit_defaults=True):
    tool_use_id: Raw
    tool_name: Raw
    result: Raw
    success: Raw
    duration: Raw
    error: str | UnsetType = UNSET
    in_doubt: bool = False  # said only where it is so


class Block(msgspec.Struct, gc=False):
    """A block of an answer."""

    type: str
    text: str = ""
    citations: Raw | UnsetType = UNSET


class Details(msgspec.Struct, frozen=True, gc=False):
    """Of the API's message, what is shown where it is there."""

    stop_details: Raw = NULL


NO_DETAILS = Details()


class Span(msgspec.Struct, rename="camel", gc=False):
    """Where a text block stands in the text of its answer."""

    block_index: int
    start: int
    end: int


class Answer(Part, tag="message"):
    message_id: Raw
    blocks: list[Block]  # as it is shown: of each text block, its Span
    stop_reason: Raw
    model: Raw
    token_usage: TokenUsage
    role: Raw = Raw(b'"assistant"')
    cost_usd: Decimal | None = None
    content: str = ""
    citations: Raw = EMPTY
    cited: Raw | UnsetType = UNSET  # the last three say whether it must be decoded
    block_indexes: Raw | UnsetType = UNSET
    details: Details | UnsetType = UNSET


PARTS = (Question, Thought, Call, Result, Answer)
_decoders = {
    (name, KINDS[name].version): msgspec.json.Decoder(part).decode
    for part in PARTS
    for name in [str(part.__struct_config__.tag)]
}


def spliced(rows: Sequence[BareRecord]) -> list[Part | Raw]:
    """The events of the rows, to be encoded as a client sees them.

    Each step is taken for all of them before the next: row by row takes a sixth longer. Raises
    UnknownEvent as `erasure.shown` does.
    """
    parts = [_part(row) for row in rows]
    parts = [_put_together(part) if type(part) is Answer else part for part in parts]
    return [_placed(part, row) for part, row in zip(parts, rows, strict=True)]


def _part(row: BareRecord) -> Part | None:
    """None: it must be decoded."""
    decode = _decoders.get((row.type, row.version))
    if decode is None or not row.body:
        return None
    try:
        return decode(row.body)
    except (ValueError, RecursionError):  # an odd block; or damage, which the decoder will name
        return None


def _placed(part: Part | None, row: BareRecord) -> Part | Raw:
    """The part with its envelope."""
    if part is None:
        return Raw(wire.encode(shown(row)))
    number, index, screen = str(row.seq), "null", "-1"
    if row.event_index is not None:
        index = screen = str(row.event_index)
    part.event_id = Raw(  # ids are our own and need no escaping
        f'"{row.event_id}","sessionId":"{row.session_id}","turnId":"{row.turn_id}",'
        f'"timestamp":"{row.at}","eventIndex":{index},"persistenceState":"persisted",'
        f'"sequenceNumber":{number},"agent":{wire.agent(row.agent_id, row.agent_name)},'
        f'"cursor":"{number}.{screen}"'
    )
    return part


def _put_together(answer: Answer) -> Answer | None:
    """The answer as a client sees it. None: it has more to tell than its words."""
    more = answer.cited, answer.block_indexes, answer.details
    if more != NOTHING:
        if not all(each in (UNSET, EMPTY, NO_DETAILS) for each in more):
            return None
        answer.cited, answer.block_indexes, answer.details = NOTHING
    content, spans = "", []
    for index, block in enumerate(answer.blocks):
        if block.citations is not UNSET and block.citations not in (NULL, EMPTY):
            return None
        if block.type == "text":
            start, content = len(content), content + block.text
            spans.append(Span(index, start, len(content)))
    answer.content, answer.blocks = content, spans  # type: ignore[assignment]  # see above
    answer.citations = EMPTY
    return answer
