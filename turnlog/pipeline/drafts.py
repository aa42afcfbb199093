"""Answers that are being written: what was shown of them, in case they are never finished."""

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event
from turnlog.events.content import Block, Citation, usage_of


class DraftBlock(msgspec.Struct):
    """A block that is being written: its pieces so far."""

    kind: str  # "text" or "thinking"
    index: int
    pieces: list[str] = []
    citations: list[Citation] = []

    def has_more_than(self, mark: "Mark") -> bool:
        return len(self.pieces) > mark.pieces or len(self.citations) > mark.citations

    def as_text(self) -> Block:
        block: Block = {"type": "text", "text": "".join(self.pieces)}
        return block | ({"citations": self.citations} if self.citations else {})


class Mark(NamedTuple):
    """How much of a draft was saved."""

    draft: "Draft"
    message_id: str
    blocks: int
    pieces: int  # of the last block
    citations: int

    @classmethod
    def of(cls, draft: "Draft") -> "Mark":
        last = draft.blocks[-1] if draft.blocks else DraftBlock("", 0)
        sizes = len(draft.blocks), len(last.pieces), len(last.citations)
        return cls(draft, draft.message_id, *sizes)


class Draft(msgspec.Struct, kw_only=True):
    """What has been shown of an answer that is not kept yet."""

    message_id: str
    model: str
    reported: dict[str, Any]
    agent: AgentRef
    blocks: list[DraftBlock] = []
    goes_on: bool = False  # its first blocks were saved before

    def since(self, mark: "Mark | None") -> "Draft":
        """What is new since the mark; all of it where there is none."""
        if mark is None or mark.draft is not self or mark.message_id != self.message_id:
            return self
        new = [*self.blocks[mark.blocks :]]
        if mark.blocks and (last := self.blocks[mark.blocks - 1]).has_more_than(mark):
            more = last.pieces[mark.pieces :], last.citations[mark.citations :]
            new.insert(0, DraftBlock(last.kind, last.index, *more))
        return msgspec.structs.replace(self, blocks=new, goes_on=True)

    def grow(self, later: "Draft") -> None:
        """Add what was saved later."""
        self.reported = later.reported
        for block in later.blocks:
            mine = self.blocks[-1] if self.blocks else None
            if mine is not None and (mine.kind, mine.index) == (block.kind, block.index):
                mine.pieces += block.pieces
                mine.citations += block.citations
            else:
                self.blocks.append(block)

    def add(self, chunk: k.MessageChunk | k.ThinkingChunk) -> None:
        kind = "text" if type(chunk) is k.MessageChunk else "thinking"
        last = self.blocks[-1] if self.blocks else None
        if last is None or last.index != chunk.block_index or last.kind != kind:
            last = DraftBlock(kind, chunk.block_index)
            self.blocks.append(last)
        last.pieces.append(chunk.content)
        if type(chunk) is k.MessageChunk and chunk.citations is not UNSET:
            last.citations += [_bare(citation) for citation in chunk.citations]

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
    answers: list[Draft]
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
