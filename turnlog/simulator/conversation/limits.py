"""Where an answer must end: at a stop sequence, or when its tokens are used up."""

from ..script import Block, Json, Reply, Text, ToolCall
from ..tokens import CHARACTERS_PER_TOKEN, output_tokens


def within(reply: Reply, body: Json) -> Reply:
    """The answer as far as the request allows it. One that calls tools is left whole."""
    if any(isinstance(block, ToolCall) for block in reply.blocks):
        return reply
    for sequence in body.get("stop_sequences") or ():
        stopped = _stopped(reply, sequence)
        if stopped is not None:
            return stopped
    return _cut(reply, body.get("max_tokens") or 0)


def _stopped(reply: Reply, sequence: str) -> Reply | None:
    for at, block in enumerate(reply.blocks):
        if isinstance(block, Text) and sequence and sequence in block.text:
            kept = block.text[: block.text.index(sequence)]
            blocks = (*reply.blocks[:at], *_said(kept, block))
            return reply.but(blocks=blocks, stop_reason="stop_sequence", stop_sequence=sequence)
    return None


def _cut(reply: Reply, most: int) -> Reply:
    left = most
    for at, block in enumerate(reply.blocks):
        cost = output_tokens(block)
        if cost > left and isinstance(block, Text):
            kept = block.text[: max(1, left) * CHARACTERS_PER_TOKEN]
            blocks = (*reply.blocks[:at], *_said(kept, block))
            return reply.but(blocks=blocks, stop_reason="max_tokens")
        left -= cost
    return reply


def _said(text: str, block: Text) -> tuple[Block, ...]:
    """A cut-off text; none when only white space is left, which the API would refuse."""
    return (Text(text, block.citations),) if text.strip() else ()
