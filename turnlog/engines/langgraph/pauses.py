"""A graph that waits for a person: `interrupt()` as an approval, and its state in the log.

The state is kept with the approvals, so any process can go on, also after a restart.

| the person | what `interrupt()` returns |
|---|---|
| approves | True; with a reason, that text |
| changes the arguments, and approves | the changed arguments, a dictionary |
| refuses, or does not answer in time | False |

An interrupt of LangChain's HumanInTheLoopMiddleware gets its decisions in the form it expects.
"""

import base64
import json
import secrets
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from turnlog.engines.langgraph.calls import writable_json
from turnlog.events import kinds as k
from turnlog.events.clock import in_seconds
from turnlog.events.content import TokenUsage, hash_of, writable
from turnlog.ports import ApprovalState

ASKS = "interrupt"  # the name of a call that is made of an interrupt outside of any tool
_OURS = "toolu_turnlog_"  # how an id begins that no model gave
MISFIT = "The changed arguments do not belong to these calls. Nothing was run."
LONGEST = 300  # characters of what a person is asked


def new_call_id() -> str:
    return f"{_OURS}{secrets.token_hex(12)}"


def is_asking(call: k.ToolUse) -> bool:
    """Whether the call is made of an interrupt outside of any tool."""
    return call.tool_name == ASKS and call.tool_use_id.startswith(_OURS)


@dataclass(frozen=True)
class Interrupted:
    """One `interrupt()`, and the call that it is about, if it is about one."""

    id: str
    value: Any
    call: k.ToolUse | None = None

    @property
    def actions(self) -> list[dict[str, Any]] | None:
        """What LangChain's middleware asks about; None: it is another interrupt."""
        value = self.value if isinstance(self.value, dict) else {}
        actions = value.get("action_requests")
        return actions if isinstance(actions, list) and "review_configs" in value else None

    def as_call(self) -> k.ToolUse:
        """A call of its own, so that it can be approved like any other."""
        value = writable_json(self.value)
        args = value if isinstance(value, dict) else {"value": value}
        return k.ToolUse(tool_use_id=new_call_id(), tool_name=ASKS, args=args)

    def question(self, call: k.ToolUse, seconds: float) -> k.ApprovalRequested:
        return k.ApprovalRequested(
            approval_id=f"appr_{uuid.uuid4().hex}",
            tool_use_id=call.tool_use_id,
            tool_name=call.tool_name,
            args=call.args,
            description=self._words(call),
            expires_at=in_seconds(seconds),
            args_hash=hash_of(call.args),
        )

    def _words(self, call: k.ToolUse) -> str:
        value = self.value if isinstance(self.value, dict) else {"question": self.value}
        named = [value[n] for n in ("question", "description", "message") if value.get(n)]
        actions = [str(each.get("description") or each.get("name")) for each in self.actions or ()]
        words = " ".join(map(str, actions or named or [call.tool_name, json.dumps(call.args)]))
        line = writable(" ".join(words.split()))
        return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"

    def answer(self, decision: ApprovalState) -> Any:
        """What `interrupt()` returns."""
        approved, reason = decision.outcome == "approved", decision.reason
        edited = decision.args if approved and decision.edited else None
        if self.actions is not None:
            rejected = {"type": "reject", "message": reason or "User rejected"}
            if not approved:
                return {"decisions": [rejected] * len(self.actions)}
            return {"decisions": self._approved(edited)}
        if edited is not None:
            return edited
        return (reason or True) if approved else False

    def _approved(self, edited: dict[str, Any] | None) -> list[dict[str, Any]]:
        """A decision for each action. Arguments that do not fit the actions approve nothing."""
        actions = self.actions or []
        if edited is None:
            return [{"type": "approve"}] * len(actions)
        if self.call is None and "action_requests" in edited:  # about several calls at once
            wanted = edited["action_requests"]
        else:
            wanted = [{"name": action.get("name"), "args": edited} for action in actions[:1]]
        names = [action.get("name") for action in actions]
        fits = isinstance(wanted, list) and all(isinstance(each, dict) for each in wanted)
        if not fits or [each.get("name") for each in wanted] != names:
            return [{"type": "reject", "message": MISFIT}] * len(actions)
        return [
            {
                "type": "edit",
                "edited_action": {"name": each["name"], "args": each.get("args") or {}},
            }
            for each in wanted
        ]


def message_of(call: k.ToolUse) -> k.Message:
    """The answer that a call of our own stands in, as every call does."""
    block = {"type": "tool_use", "id": call.tool_use_id, "name": ASKS, "input": call.args}
    usage = TokenUsage()
    return k.Message(
        message_id="", blocks=[block], stop_reason="tool_use", model="", token_usage=usage
    )


# the state of a graph, as text


class StateWriter(JsonPlusSerializer):
    """Writes the state of one run. Only one that pauses is read again: what cannot be written
    is noted, and is an error there."""

    unwritable: Exception | None = None

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        try:
            return super().dumps_typed(obj)
        except Exception as error:
            self.unwritable = error
            return super().dumps_typed(None)


def packed(
    saver: InMemorySaver,
    thread: str,
    waiting: Mapping[str, Interrupted],
    renamed: Mapping[str, str],
) -> str:
    """The newest checkpoint of the graph and of its subgraphs, and what waits for whom."""
    newest: dict[str, Any] = {}
    for entry in saver.list({"configurable": {"thread_id": thread}}):
        place = entry.config["configurable"]["checkpoint_ns"]
        newest.setdefault(place, (entry.checkpoint, entry.metadata, entry.pending_writes or []))
    asked = {call: (each.id, each.value) for call, each in waiting.items()}
    kept = {"thread": thread, "newest": newest, "asked": asked, "renamed": dict(renamed)}
    kind, state = saver.serde.dumps_typed(kept)
    return f"{kind}:{base64.b64encode(zlib.compress(state)).decode()}"


def unpacked(state: str) -> tuple[InMemorySaver, str, dict[str, Interrupted], dict[str, str]]:
    """The other way round: a saver with that state, its thread, by call what waits, and what the
    graph calls these calls."""
    saver = InMemorySaver(serde=StateWriter())
    kind, _, text = state.partition(":")
    kept = saver.serde.loads_typed((kind, zlib.decompress(base64.b64decode(text))))
    for place, (checkpoint, metadata, writes) in kept["newest"].items():
        config: Any = {"configurable": {"thread_id": kept["thread"], "checkpoint_ns": place}}
        config = saver.put(config, checkpoint, metadata, checkpoint["channel_versions"])
        for task, own in _by_task(writes):
            saver.put_writes(config, own, task)
    asked = {call: Interrupted(id, value) for call, (id, value) in kept["asked"].items()}
    return saver, kept["thread"], asked, kept.get("renamed", {})


def _by_task(writes: list[Any]) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    tasks: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in writes:
        tasks.setdefault(task, []).append((channel, value))
    yield from tasks.items()
