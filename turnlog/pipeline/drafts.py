"""Answers that are being written: what was shown of them, in case they are never finished."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event
from turnlog.events.chunks import Chunk
from turnlog.events.content import Block, Citation, usage_of


class Draft(msgspec.Struct, kw_only=True):
    """What has been shown of an answer that is not kept yet."""

    message_id: str
    model: str
    reported: dict[str, Any]
    agent: AgentRef
    chunks: list[Chunk] = []  # as they were shown; what they say is put together when it is wanted

    def since(self, mark: "Mark | None") -> "DraftPart":
        """What is new since the mark; all of it where there is none."""
        goes_on = mark is not None and mark.draft is self and mark.message_id == self.message_id
        new = self.chunks[mark.chunks :] if mark is not None and goes_on else self.chunks
        return DraftPart(
            message_id=self.message_id,
            model=self.model,
            reported=self.reported,
            agent=self.agent,
            blocks=_blocks_of(new),
            goes_on=goes_on,
        )

    def events(self, stop_reason: str) -> list[Event]:
        """The events that keep all of it."""
        return self.since(None).events(stop_reason)


class Mark(NamedTuple):
    """How much of a draft was saved."""

    draft: Draft
    message_id: str
    chunks: int

    @classmethod
    def of(cls, draft: Draft) -> "Mark":
        return cls(draft, draft.message_id, len(draft.chunks))


class DraftBlock(msgspec.Struct):
    """A block that is being written: its pieces so far."""

    kind: str  # "text" or "thinking"
    index: int
    pieces: list[str] = []
    citations: list[Citation] = []

    def as_text(self) -> Block:
        block: Block = {"type": "text", "text": "".join(self.pieces)}
        return block | ({"citations": self.citations} if self.citations else {})


class DraftPart(msgspec.Struct, kw_only=True):
    """What is saved of a draft at one time; grown by later ones, all of it."""

    message_id: str
    model: str
    reported: dict[str, Any]
    agent: AgentRef
    blocks: list[DraftBlock] = []
    goes_on: bool = False  # its first blocks were saved before

    def grow(self, later: "DraftPart") -> None:
        """Add what was saved later."""
        self.reported = later.reported
        for block in later.blocks:
            mine = self.blocks[-1] if self.blocks else None
            if mine is not None and (mine.kind, mine.index) == (block.kind, block.index):
                mine.pieces += block.pieces
                mine.citations += block.citations
            else:
                self.blocks.append(block)

    def events(self, stop_reason: str) -> list[Event]:
        """The events that keep what was shown. It is billed by what was last reported."""
        thoughts: list[Event] = [
            k.Thinking(
                message_id=self.message_id,
                content="".join(block.pieces),
                block_index=block.index,
            )
            for block in self.blocks
            if block.kind == "thinking"
        ]
        return [*thoughts, self._message(stop_reason)]

    def _message(self, stop_reason: str) -> k.Message:
        texts = [block for block in self.blocks if block.kind == "text"]
        return k.Message(
            message_id=self.message_id,
            blocks=[block.as_text() for block in texts],
            block_indexes=[block.index for block in texts],
            stop_reason=stop_reason,
            model=self.model,
            token_usage=usage_of(self.reported),
            reported=self.reported,
        )


class Drafts(msgspec.Struct, kw_only=True):
    """What a turn saves about once a second, in case its process dies: what is new since then."""

    index: int  # the next place on screen
    answers: list[DraftPart]
    open: list[str] | None = None  # message ids of all that are being written; None: of `answers`

    def grow(self, later: "Drafts") -> None:
        """Add what was saved later."""
        known = {draft.message_id: draft for draft in self.answers}
        for draft in later.answers:
            if draft.goes_on and draft.message_id in known:
                known[draft.message_id].grow(draft)
            else:
                known[draft.message_id] = draft
        still = known if later.open is None else set(later.open)
        self.answers = [draft for id, draft in known.items() if id in still]
        self.index = later.index


def _bare(citation: Citation) -> Citation:
    return {name: value for name, value in citation.items() if name != "blockIndex"}


def _blocks_of(chunks: Sequence[Chunk]) -> list[DraftBlock]:
    blocks: list[DraftBlock] = []
    for chunk in chunks:
        kind = "text" if type(chunk) is k.MessageChunk else "thinking"
        last = blocks[-1] if blocks else None
        if last is None or last.index != chunk.block_index or last.kind != kind:
            last = DraftBlock(kind, chunk.block_index)
            blocks.append(last)
        last.pieces.append(chunk.content)
        if type(chunk) is k.MessageChunk and chunk.citations is not UNSET:
            last.citations += [_bare(citation) for citation in chunk.citations]
    return blocks
