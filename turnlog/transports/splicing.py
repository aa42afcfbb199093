"""The JSON of kept events, spliced from their rows of the log: a reload reads no content.

Each class below is a kind of event as its row holds it, for what clients see of it: `Raw` is
copied as it lies there, a default stands for a field that is younger than the row. Then it gets
its envelope, and a page is encoded at once. Kinds without a class, and answers with more to tell
than their words, are decoded and encoded: `wire.encode` says how an event looks, and a test
compares the two.
"""

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

import msgspec
from msgspec import UNSET, Raw, UnsetType

from turnlog.events.content import TokenUsage
from turnlog.events.erasure import shown
from turnlog.events.kinds import KINDS
from turnlog.events.record import BareRecord
from turnlog.transports import wire

NULL, EMPTY = Raw(b"null"), Raw(b"[]")


class Part(msgspec.Struct, rename="camel", tag_field="type", kw_only=True, gc=False):
    """What a client sees of a row: the fields of its kind, and its envelope, which is added.

    No event has the values that stand here.
    """

    event_id: str = ""
    session_id: str = ""
    turn_id: str = ""
    timestamp: str = ""
    event_index: int | None = -1
    persistence_state: str = ""
    sequence_number: int = -1
    agent: Raw = NULL
    cursor: str = ""


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
    citations: Raw = NULL


class Details(msgspec.Struct, frozen=True, gc=False):
    """Of the API's message, what is shown where it is there."""

    stop_details: Raw = NULL


class Span(msgspec.Struct, rename="camel", gc=False):
    """Where a text block stands in the text of its answer."""

    block_index: int
    start: int
    end: int


class StoredAnswer(Part, tag="message"):
    message_id: Raw
    blocks: list[Block]
    stop_reason: Raw
    model: Raw
    token_usage: TokenUsage
    role: Raw = Raw(b'"assistant"')
    cost_usd: Decimal | None = None
    cited: Raw = EMPTY
    block_indexes: Raw = EMPTY
    details: Details = Details()


class Answer(Part, tag="message"):
    message_id: Raw
    stop_reason: Raw
    model: Raw
    token_usage: TokenUsage
    role: Raw
    cost_usd: Decimal | None
    content: str
    blocks: list[Span]
    citations: Raw = EMPTY


PARTS = (Question, Thought, Call, Result, StoredAnswer)
_decoders = {
    (name, KINDS[name].version): msgspec.json.Decoder(part).decode
    for part in PARTS
    for name in [str(part.__struct_config__.tag)]
}


def encode(rows: Iterable[BareRecord]) -> bytes:
    """The events of the rows as a client sees them, in a JSON list.

    Raises UnknownEvent as `erasure.shown` does.
    """
    return wire.encode_all([_part(row) or Raw(wire.encode(shown(row))) for row in rows])


def _part(row: BareRecord) -> Part | None:
    """None: it must be decoded."""
    decode = _decoders.get((row.type, row.version))
    if decode is None or not row.body:
        return None
    try:
        stored = decode(row.body)
    except msgspec.ValidationError:  # an answer with a block of another shape
        return None
    part = _answer(stored) if type(stored) is StoredAnswer else stored
    if part is not None:
        part.event_id, part.session_id, part.turn_id = row.event_id, row.session_id, row.turn_id
        part.timestamp, part.event_index, part.sequence_number = row.at, row.event_index, row.seq
        part.agent, part.cursor = _agent(row.agent_id, row.agent_name), row.cursor
        part.persistence_state = "persisted"
    return part


@lru_cache(maxsize=1024)
def _agent(id: str, name: str) -> Raw:
    return Raw(wire.agent(id, name))


def _answer(stored: StoredAnswer) -> Answer | None:
    """None: more is to be told than its words."""
    if stored.cited != EMPTY or stored.block_indexes != EMPTY:
        return None
    if stored.details.stop_details != NULL:
        return None
    content, spans = "", []
    for index, block in enumerate(stored.blocks):
        if block.citations != NULL and block.citations != EMPTY:
            return None
        if block.type == "text":
            start, content = len(content), content + block.text
            spans.append(Span(index, start, len(content)))
    return Answer(
        message_id=stored.message_id,
        stop_reason=stored.stop_reason,
        model=stored.model,
        token_usage=stored.token_usage,
        role=stored.role,
        cost_usd=stored.cost_usd,
        content=content,
        blocks=spans,
    )
