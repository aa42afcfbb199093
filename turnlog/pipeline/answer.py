"""The end of a model call: what the answer asks for, and all that is kept in one step with it."""

import secrets
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.ports import Batch, CallOutput, Hidden, Output, UnreadableCall

NOT_JSON = "The arguments were not a JSON object. Nothing was run."


class Answer(NamedTuple):
    """A whole answer."""

    message: k.Message
    asked: list[k.ToolUse]  # the calls in it
    refused: list[k.ToolResult]  # results of those that cannot be run
    outputs: list[Output]  # what is kept

    @property
    def calls(self) -> list[k.ToolUse]:
        """Those that are to be run."""
        closed = {result.tool_use_id for result in self.refused}
        return [call for call in self.asked if call.tool_use_id not in closed]

    @property
    def goes_on(self) -> bool:
        """Whether the model speaks again. "Send the assistant content back unchanged" """
        return bool(self.asked) or self.message.stop_reason == "pause_turn"


def read_answer(
    outputs: Sequence[CallOutput], taken: set[str], handovers: Collection[str], *, shown: bool
) -> Answer | None:
    """The answer that this batch ends, if it does.

    `taken`: ids of calls, which must not come again. `handovers`: names of the tools by which
    the agent hands over: their calls are not shown, nor is an answer that holds nothing else,
    unless some of it was `shown` already.
    """
    message = next((output for output in outputs if isinstance(output, k.Message)), None)
    if message is None:
        return None
    broken = {output.block for output in outputs if isinstance(output, UnreadableCall)}
    message, unreadable = _with_own_ids(message, taken, broken)
    asked = _calls_of(message)
    refused = [failed(call, NOT_JSON) for call in asked if call.tool_use_id in unreadable]
    routes = bool(asked) and all(call.tool_name in handovers for call in asked)
    silent = routes and not shown and not message.content
    events = [message if isinstance(output, k.Message) else output for output in outputs]
    kept: list[Output] = [o for o in events if not isinstance(o, UnreadableCall)]
    if silent:
        kept = [Hidden(event=o) if isinstance(o, Event) else o for o in kept]
    calls: list[k.ToolUse | k.ToolResult] = [*asked, *refused]
    kept += [Hidden(event=c) if c.tool_name in handovers else c for c in calls]
    return Answer(message, asked, refused, kept)


def results_of(batch: Batch, calls: Iterable[k.ToolUse]) -> list[k.ToolResult]:
    """The results of these calls in the batch, and not those of another agent's."""
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
    message: k.Message, taken: set[str], broken: set[int]
) -> tuple[k.Message, set[str]]:
    """Some gateways number the calls of each answer anew: such an id gets one of ours."""
    blocks, unreadable = list(message.blocks), set()
    for index, block in enumerate(blocks):
        if block["type"] == "tool_use":
            if not block["id"] or block["id"] in taken:
                block = block | {"id": f"toolu_turnlog_{secrets.token_hex(12)}"}
                blocks[index] = block
            taken.add(block["id"])
            if index in broken:
                unreadable.add(block["id"])
    return msgspec.structs.replace(message, blocks=blocks), unreadable


def _calls_of(message: k.Message) -> list[k.ToolUse]:
    """Only a call that the model ended on is run: `max_tokens` may have cut it short."""
    if message.stop_reason != "tool_use":
        return []
    return [
        k.ToolUse(tool_use_id=block["id"], tool_name=block["name"], args=block["input"])
        for block in message.blocks
        if block["type"] == "tool_use"
    ]
