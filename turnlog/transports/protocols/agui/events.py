"""What an AG-UI client is told: a table from steps to its events, and a turn as messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from turnlog.events.kinds import ApprovalRequested
from turnlog.ports import Session
from turnlog.transports.protocols import reading, telling
from turnlog.transports.protocols import story as s
from turnlog.transports.protocols.files import address, is_image

Json = dict[str, Any]
SUCCESS: Json = {"type": "success"}
RESPONSE = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
        "args": {"type": "object"},
    },
    "required": ["approved"],
}


@dataclass(frozen=True)
class Snapshot(s.Step):
    """The thread as it is kept."""

    records: list[reading.TurnRecord]


@dataclass(frozen=True)
class Nothing(s.Step):
    """The run has nothing to do."""


class Teller:
    """Steps as events of AG-UI. It knows which texts are open and which tools are the client's."""

    def __init__(self, thread_id: str, run_id: str, session: Session, *, old: bool = False) -> None:
        """`old`: for a client before 1.0, which refuses what it does not know of an outcome."""
        self._run = {"threadId": thread_id, "runId": run_id}
        self._session = session
        self._old = old
        self._mine: set[str] = set()
        self._open: set[str] = set()  # messages whose text has begun
        self._said: dict[str, str] = {}  # the newest message of each agent
        self._began = False

    def tell(self, step: s.Step) -> Iterator[Json]:
        if not self._began:
            self._began = True
            yield {"type": "RUN_STARTED", **self._run}
            state = {"sessionId": self._session.id, "agent": self._session.agent_id}
            yield {"type": "STATE_SNAPSHOT", "snapshot": state}
        rule = TABLE.get(type(step))
        if rule is not None:
            yield from rule(self, step)

    def began(self, step: s.Began) -> Iterator[Json]:
        self._mine |= {tool["name"] for tool in step.question.client_tools}
        return iter(())

    def text_began(self, step: s.TextBegan) -> Iterator[Json]:
        """The blocks of an answer are one message, under the model's own id."""
        if step.message_id not in self._open:
            self._open.add(step.message_id)
            name = step.agent.id
            yield {"type": "TEXT_MESSAGE_START", "messageId": step.message_id,
                   "role": "assistant", "name": name}  # fmt: skip

    def text_ended(self, step: s.TextEnded) -> Iterator[Json]:
        if step.citations:
            value = {"messageId": step.message_id, "citations": step.citations}
            yield {"type": "CUSTOM", "name": "turnlog.citations", "value": value}

    def said(self, step: s.Said) -> Iterator[Json]:
        self._said[step.agent.id] = step.message.message_id
        yield from self._end(step.message.message_id)

    def _end(self, message_id: str) -> Iterator[Json]:
        if message_id in self._open:
            self._open.discard(message_id)
            yield {"type": "TEXT_MESSAGE_END", "messageId": message_id}

    def _end_all(self) -> Iterator[Json]:
        for message_id in sorted(self._open):
            yield from self._end(message_id)

    def called(self, step: s.Called) -> Iterator[Json]:
        call = {"toolCallId": step.call.tool_use_id}
        parent = self._said.get(step.agent.id)
        yield {"type": "TOOL_CALL_START", **call, "toolCallName": step.call.tool_name,
               **({"parentMessageId": parent} if parent else {})}  # fmt: skip
        args = telling.encode(step.call.args).decode()
        yield {"type": "TOOL_CALL_ARGS", **call, "delta": args}
        yield {"type": "TOOL_CALL_END", **call}

    def answered(self, step: s.Answered) -> Iterator[Json]:
        name = step.result.tool_name
        if name in self._mine and step.result.success:
            return  # the client said so itself
        yield {"type": "TOOL_CALL_RESULT", **_tool_message(step.result)}

    def waits(self, step: s.Waits) -> Iterator[Json]:
        yield from self._end_all()
        asked = [approval for approval in step.open if approval.tool_name not in self._mine]
        outcome: Json = {"type": "interrupt", "interrupts": [_interrupt(one) for one in asked]}
        if not asked:
            pending = [approval.tool_use_id for approval in step.open]
            outcome = SUCCESS if self._old else SUCCESS | {"pendingToolCallIds": pending}
        yield {"type": "RUN_FINISHED", **self._run, "outcome": outcome}

    def ended(self, step: s.Ended) -> Iterator[Json]:
        yield from self._end_all()
        complete = step.complete
        about = {"usage": msgspec.to_builtins(complete.token_usage), "model": complete.model,
                 "costUsd": complete.cost_usd, "stopReason": complete.stop_reason}  # fmt: skip
        yield {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/turn", "value": about}]}
        cancelled = complete.reason == "cancelled" and not self._old
        outcome = {"type": "cancelled"} if cancelled else SUCCESS
        yield {"type": "RUN_FINISHED", **self._run, "outcome": outcome}

    def failed(self, step: s.Failed) -> Iterator[Json]:
        yield from self._end_all()
        yield {"type": "RUN_ERROR", "message": step.error, "code": step.code}

    def nothing(self, step: Nothing) -> Iterator[Json]:
        yield {"type": "RUN_FINISHED", **self._run, "outcome": SUCCESS}


def _thought_began(teller: Teller, step: s.ThoughtBegan) -> Iterator[Json]:
    yield {"type": "REASONING_START", "messageId": step.id}
    yield {"type": "REASONING_MESSAGE_START", "messageId": step.id, "role": "reasoning"}


def _thought_ended(teller: Teller, step: s.ThoughtEnded) -> Iterator[Json]:
    yield {"type": "REASONING_MESSAGE_END", "messageId": step.id}
    if step.signature:
        yield {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": step.id,
               "encryptedValue": step.signature}  # fmt: skip
    yield {"type": "REASONING_END", "messageId": step.id}


def _interrupt(approval: ApprovalRequested) -> Json:
    return {"id": approval.approval_id, "reason": "tool_call", "message": approval.description,
            "toolCallId": approval.tool_use_id, "expiresAt": approval.expires_at,
            "responseSchema": RESPONSE}  # fmt: skip


def _tool_message(result: Any) -> Json:
    value = result.result if result.success else {"error": str(result.error)}
    text = value if isinstance(value, str) else telling.encode(value).decode()
    call = result.tool_use_id
    return {"messageId": f"{call}:result", "toolCallId": call, "content": text, "role": "tool"}


def _grew(kind: str, id_of: str) -> Any:
    def tell(teller: Teller, step: Any) -> Iterator[Json]:
        yield {"type": kind, "messageId": getattr(step, id_of), "delta": step.text}

    return tell


def _took_over(teller: Teller, step: s.TookOver) -> Iterator[Json]:
    change = {"op": "replace", "path": "/agent", "value": step.agent.id}
    yield {"type": "STATE_DELTA", "delta": [change]}


def _snapshot(teller: Teller, step: Snapshot) -> Iterator[Json]:
    shown = [message for record in step.records for message in thread_messages(record)]
    yield {"type": "MESSAGES_SNAPSHOT", "messages": shown}


# fmt: off
TABLE: dict[type[s.Step], Any] = {
    s.Began:        Teller.began,
    s.ThoughtBegan: _thought_began,
    s.ThoughtGrew:  _grew("REASONING_MESSAGE_CONTENT", "id"),
    s.ThoughtEnded: _thought_ended,
    s.TextBegan:    Teller.text_began,
    s.TextGrew:     _grew("TEXT_MESSAGE_CONTENT", "message_id"),
    s.TextEnded:    Teller.text_ended,
    s.Said:         Teller.said,
    s.Called:       Teller.called,
    s.Answered:     Teller.answered,
    s.TookOver:     _took_over,
    s.Waits:        Teller.waits,
    s.Ended:        Teller.ended,
    s.Failed:       Teller.failed,
    Snapshot:       _snapshot,
    Nothing:        Teller.nothing,
}
# fmt: on


def thread_messages(record: reading.TurnRecord) -> list[Json]:
    """A turn as messages of a thread: the same ids as live."""
    question = record.question
    asked: Any = question.content
    if question.files:
        asked = [{"type": "text", "text": question.content}, *map(_attached, question.files)]
    shown: list[Json] = [{"id": question.message_id, "role": "user", "content": asked}]
    answers: dict[str, Json] = {}
    for part in record.parts:
        match part:
            case reading.Thought(step=step):
                signed = {"encryptedValue": step.signature} if step.signature else {}
                thought = {"id": step.id, "role": "reasoning", "content": step.text}
                shown.append(thought | signed)
            case reading.Text(step=step):
                answer = _answer(answers, step.message_id, step.agent.id, shown)
                answer["content"] = answer.get("content", "") + step.text
            case reading.Tool():
                answer = _answer(answers, part.message_id, part.agent.id, shown)
                args = telling.encode(part.call.args).decode()
                function = {"name": part.call.tool_name, "arguments": args}
                call = {"id": part.call.tool_use_id, "type": "function", "function": function}
                answer.setdefault("toolCalls", []).append(call)
                if part.result is not None:
                    result = _tool_message(part.result)
                    shown.append({"id": result.pop("messageId"), **result})
    return shown


def _attached(file: Json) -> Json:
    source = {"type": "url", "value": address(file), "mimeType": file.get("mediaType", "")}
    return {"type": "image" if is_image(file) else "document", "source": source}


def _answer(answers: dict[str, Json], message_id: str, name: str, shown: list[Json]) -> Json:
    if message_id not in answers:
        answers[message_id] = {"id": message_id, "role": "assistant", "name": name}
        shown.append(answers[message_id])
    return answers[message_id]
