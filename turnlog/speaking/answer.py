"""The end of a model call: the calls in the answer, and everything that is stored with it."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.ports import Batch, CallOutput, Hidden, Output, UnreadableCall


class Answer(msgspec.Struct, frozen=True):
    """A whole answer."""

    message: k.Message
    tool_uses: list[k.ToolUse]  # the calls in it
    refused: list[k.ToolResult]  # results of the calls that cannot be run
    outputs: list[Output]  # what is kept

    @property
    def calls(self) -> list[k.ToolUse]:
        """The calls that can be run."""
        if not self.refused:
            return self.tool_uses
        closed = {result.tool_use_id for result in self.refused}
        return [call for call in self.tool_uses if call.tool_use_id not in closed]

    @property
    def goes_on(self) -> bool:
        """Whether the model speaks again: after its tools, or after a `pause_turn`."""
        return bool(self.tool_uses) or self.message.stop_reason == "pause_turn"


def read_answer(
    outputs: Sequence[CallOutput], taken: set[str], handovers: Collection[str], *, shown: bool
) -> Answer | None:
    """The answer, if this batch ends one.

    `taken`: ids that earlier calls have. `handovers`: names of the tools by which
    the agent hands over: their calls are not shown, nor is an answer that holds nothing else,
    unless some of it was `shown` already.
    """
    answers = [output for output in outputs if type(output) is k.Message]
    if not answers:
        return None
    message = _as_it_ended(answers[0])
    broken = {output.block: output.why for output in outputs if type(output) is UnreadableCall}
    message, unreadable = _with_own_ids(message, taken, broken)
    kept: list[Output] = [
        message if type(output) is k.Message else output
        for output in outputs
        if not isinstance(output, UnreadableCall)
    ]
    tool_uses = _calls_of(message)
    if not tool_uses:
        return Answer(message, [], [], kept)
    refused = [
        failed(call, f"{unreadable[call.tool_use_id]} Nothing was run.")
        for call in tool_uses
        if call.tool_use_id in unreadable
    ]
    routes = all(call.tool_name in handovers for call in tool_uses)
    silent = routes and not shown and not message.content
    if silent:
        kept = [Hidden(event=o) if isinstance(o, Event) else o for o in kept]
    calls: list[k.ToolUse | k.ToolResult] = [*tool_uses, *refused]
    kept += [Hidden(event=c) if c.tool_name in handovers else c for c in calls]
    return Answer(message, tool_uses, refused, kept)


def _as_it_ended(message: k.Message) -> k.Message:
    """A model that says `tool_use` and asks for none has answered. Its own word is kept beside."""
    if message.stop_reason != "tool_use":
        return message
    if any(block["type"] == "tool_use" for block in message.blocks):
        return message
    details = message.details | {"stop_reason": message.stop_reason}
    return msgspec.structs.replace(message, stop_reason="end_turn", details=details)


def results_of(batch: Batch, calls: Iterable[k.ToolUse]) -> list[k.ToolResult]:
    """The results in the batch that belong to these calls."""
    wanted = {call.tool_use_id for call in calls}
    events = [o.event if isinstance(o, Hidden) else o for o in batch.outputs]
    results = [event for event in events if isinstance(event, k.ToolResult)]
    return [result for result in results if result.tool_use_id in wanted]


def result(call: k.ToolUse, text: str) -> k.ToolResult:
    return k.ToolResult(
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        result=text,
        success=True,
        duration=0,
    )


def failed(call: k.ToolUse, why: str) -> k.ToolResult:
    return msgspec.structs.replace(result(call, ""), result=None, success=False, error=why)


def _with_own_ids(
    message: k.Message, taken: set[str], broken: Mapping[int, str]
) -> tuple[k.Message, dict[str, str]]:
    """Some gateways number the calls of each answer anew: such an id gets one of ours. So does
    one with a NUL, which not every store can write.
    """
    blocks, unreadable = list(message.blocks), {}
    for index, block in enumerate(blocks):
        if block["type"] == "tool_use":
            if not block["id"] or "\0" in block["id"] or block["id"] in taken:
                block = block | {"id": f"toolu_turnlog_{secrets.token_hex(12)}"}
                blocks[index] = block
            taken.add(block["id"])
            if index in broken:
                unreadable[block["id"]] = broken[index]
    return msgspec.structs.replace(message, blocks=blocks), unreadable


def _calls_of(message: k.Message) -> list[k.ToolUse]:
    """The calls of an answer that ended with them. `max_tokens` may have cut a call short."""
    if message.stop_reason != "tool_use":
        return []
    return [
        k.ToolUse(tool_use_id=block["id"], tool_name=block["name"], args=block["input"])
        for block in message.blocks
        if block["type"] == "tool_use"
    ]
