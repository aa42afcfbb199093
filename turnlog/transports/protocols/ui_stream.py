"""The Vercel AI SDK's UI-message stream: a session for `useChat`.

One UIMessage is one turn, under the turn's id; its parts carry our message ids in
`providerMetadata.turnlog`. A client that comes back loads `ui-messages`, which end with the open
question, and resumes: the answer comes whole, once.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from starlette.responses import Response

from turnlog.errors import BadInput
from turnlog.ports import Decision, Question, StartedTurn
from turnlog.transports.http.request import UserRequest, json_response
from turnlog.transports.protocols import answers, reading, telling
from turnlog.transports.protocols import story as s
from turnlog.transports.protocols.files import Sent, address, file_at, files_in, with_files
from turnlog.transports.protocols.understanding import understood

Json = dict[str, Any]
MOST_BYTES = 16_000_000  # of a request: the SDK sends the whole conversation by default
EXAMPLE = {"messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}
HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_STEP_END = {"type": "finish-step"}
DONE = b"data: [DONE]\n\n"
FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length",
          "refusal": "content-filter", "model_context_window_exceeded": "length"}  # fmt: skip


class UiRequest(msgspec.Struct, kw_only=True, rename="camel"):
    """What the SDK's transport sends. Only the last message is read: the log has the others."""

    messages: list[Json]
    trigger: str = "submit-message"


async def send(request: UserRequest) -> Response:
    """A question, or answers to what the last message asks."""
    sent = await request.body(UiRequest, MOST_BYTES)
    if sent.trigger != "submit-message":
        raise BadInput("An answer cannot be made anew: the log is append-only. Ask again.")
    if not sent.messages:
        raise BadInput("'messages' is empty: the last one is the question.")
    session_id, last = request.id("session_id"), sent.messages[-1]
    await request.backend.store.get_session(request.user.id, session_id)
    if last.get("role") == "user":
        question = await with_files(
            request.backend, request.user, session_id, _question(last), _files(last)
        )
        turn = await request.backend.start_turn(request.user, session_id, question)
        return _stream(request, turn)
    decisions = _decisions(last)
    if not decisions:
        raise BadInput("The last message is neither a question nor an answer to an approval.")
    backend = request.backend
    found, before = await answers.decide(backend, request.user, session_id, decisions)
    return _stream(request, found, before)


async def resume(request: UserRequest) -> Response:
    """The answer that is being written, from its start; 204 where there is none.

    `after`: the last message that the client has. If that is the newest question, its answer is
    told also where it is over by now.
    """
    backend, user_id, session_id = request.backend, request.user.id, request.id("session_id")
    turn = await telling.newest(backend, user_id, session_id)
    if turn is None or not (
        await telling.is_running(backend, user_id, session_id) or await _is_unanswered(request)
    ):
        return Response(status_code=204)
    if request.http.method == "HEAD":
        return Response(headers=HEADERS)
    return _stream(request, turn)


async def _is_unanswered(request: UserRequest) -> bool:
    """Whether the last message that the client has is the newest question."""
    turn = await request.backend.store.newest_turn(request.user.id, request.id("session_id"))
    last = request.query("after")
    if turn is None or not last:
        return False
    (first,) = await request.backend.store.read(
        turn.user_id, turn.session_id, after=turn.first_seq - 1, limit=1
    )
    return last in (turn.request_id, getattr(first.event, "message_id", None))


async def messages(request: UserRequest) -> Response:
    """The session as UIMessages. A turn that runs shows its question: its answer is resumed."""
    limit = request.number("limit", 1000, least=1, most=1000)
    backend, user_id, session_id = request.backend, request.user.id, request.id("session_id")
    page = await telling.page_of(backend, user_id, session_id, limit=limit)
    records = reading.turns(page)
    is_running = await telling.is_running(backend, user_id, session_id)
    shown: list[Json] = []
    for at, record in enumerate(records):
        runs = is_running and at == len(records) - 1
        shown += _ui_messages(record, answered=not runs)
    return json_response({"messages": shown})


# what the client says


@understood
def _question(message: Json) -> Question:
    parts = message.get("parts") or []
    texts = [part["text"] for part in parts if part.get("type") == "text"]
    return Question(
        message="\n".join(texts),
        request_id=str(message["id"]) if message.get("id") else None,
    )


@understood
def _files(message: Json) -> list[Sent]:
    parts = [part for part in message.get("parts") or [] if part.get("type") == "file"]
    return files_in(parts, lambda part: file_at(str(part["url"]), str(part.get("filename") or "")))


@understood
def _decisions(message: Json) -> dict[str, Decision]:
    """The approvals that the client has answered."""
    decisions: dict[str, Decision] = {}
    for part in message.get("parts") or ():
        approval = part.get("approval") or {}
        if part.get("state") == "approval-responded" and approval.get("id"):
            approved, reason = bool(approval.get("approved")), approval.get("reason")
            decisions[approval["id"]] = Decision(approved=approved, reason=reason)
    return decisions


# what the client is told


def _stream(request: UserRequest, turn: StartedTurn, after: int | None = None) -> Response:
    steps = telling.told(request.backend, request.user.id, turn, after)
    teller = Teller(turn)
    metrics = request.backend.metrics
    return telling.Frames(steps, teller.tell, metrics, last=DONE, headers=HEADERS)


class Teller:
    """Steps as chunks of the stream. It knows which model call it is in: a `step` there."""

    def __init__(self, turn: StartedTurn) -> None:
        self._turn_id = turn.turn_id
        self._message_id = ""
        self._began = False

    def tell(self, step: s.Step) -> Iterator[Json]:
        if not self._began:
            self._began = True
            yield {"type": "start", "messageId": self._turn_id}
        if isinstance(step, s.Part) and step.message_id != self._message_id:
            if self._message_id:
                yield _STEP_END
            self._message_id = step.message_id
            yield {"type": "start-step"}
        rule = TABLE.get(type(step))
        if rule is not None:
            yield from rule(step)


def _ours(step: s.Part) -> Json:
    place = {"messageId": step.message_id, "blockIndex": step.block, "agent": step.agent.id}
    return {"turnlog": place}


def _part(kind: str, step: s.Part) -> Json:
    return {"type": kind, "id": step.id, "providerMetadata": _ours(step)}


def _reasoning_end(step: s.ThoughtEnded) -> list[Json]:
    about = _ours(step) | ({"anthropic": {"signature": step.signature}} if step.signature else {})
    return [{"type": "reasoning-end", "id": step.id, "providerMetadata": about}]


def _text_end(step: s.TextEnded) -> list[Json]:
    end = {"type": "text-end", "id": step.id, "providerMetadata": _ours(step)}
    return [end, *(_source(step, at, c) for at, c in enumerate(step.citations))]


def _source(step: s.TextEnded, at: int, citation: Json) -> Json:
    """A source with our citation in it, whole."""
    about = {"turnlog": citation | {"messageId": step.message_id}}
    head = {"sourceId": f"{step.id}:{at}", "providerMetadata": about}
    title = str(citation.get("document_title") or citation.get("title") or "")
    if citation.get("url"):
        return {"type": "source-url", "url": citation["url"], "title": title, **head}
    media_type = "application/pdf" if citation["type"] == "page_location" else "text/plain"
    named = title or str(citation.get("source") or "document")
    return {"type": "source-document", "mediaType": media_type, "title": named, **head}


def _called(step: s.Called) -> list[Json]:
    call = step.call
    return [{"type": "tool-input-available", "toolCallId": call.tool_use_id, "dynamic": True,
             "toolName": call.tool_name, "input": call.args}]  # fmt: skip


def _asked(step: s.Asked) -> list[Json]:
    approval = step.approval
    return [{"type": "tool-approval-request", "approvalId": approval.approval_id,
             "toolCallId": approval.tool_use_id, "reason": approval.description}]  # fmt: skip


def _decided(step: s.Decided) -> list[Json]:
    decision = step.decision
    reason = {"reason": decision.reason} if decision.reason else {}
    return [{"type": "tool-approval-response", "approvalId": decision.approval_id,
             "approved": decision.approved, **reason}]  # fmt: skip


def _answered(step: s.Answered) -> list[Json]:
    result = step.result
    head: Json = {"toolCallId": result.tool_use_id}
    if step.rejected:
        return [{"type": "tool-output-denied", **head}]
    if result.success:
        output = {"type": "tool-output-available", "output": result.result, "dynamic": True}
        return [output | head]
    return [{"type": "tool-output-error", "errorText": str(result.error), "dynamic": True, **head}]


def _ended(step: s.Ended) -> list[Json]:
    complete = step.complete
    about = {"turnlog": {"usage": msgspec.to_builtins(complete.token_usage),
                         "costUsd": complete.cost_usd, "model": complete.model}}  # fmt: skip
    finish = {"type": "finish", "messageMetadata": about,
              "finishReason": FINISH.get(complete.stop_reason, "other")}  # fmt: skip
    if complete.reason == "cancelled":
        return [_STEP_END, {"type": "abort", "reason": "stopped"}]
    return [_STEP_END, finish]


# fmt: off
TABLE: dict[type[s.Step], Any] = {
    s.ThoughtBegan: lambda t: [_part("reasoning-start", t)],
    s.ThoughtGrew:  lambda t: [{"type": "reasoning-delta", "id": t.id, "delta": t.text}],
    s.ThoughtEnded: _reasoning_end,
    s.TextBegan:    lambda t: [_part("text-start", t)],
    s.TextGrew:     lambda t: [{"type": "text-delta", "id": t.id, "delta": t.text}],
    s.TextEnded:    _text_end,
    s.Called:       _called,
    s.Asked:        _asked,
    s.Decided:      _decided,
    s.Answered:     _answered,
    s.TookOver:     lambda t: [{"type": "data-agent", "data": msgspec.to_builtins(t.agent)}],
    s.Waits:        lambda t: [_STEP_END, {"type": "finish", "finishReason": "tool-calls"}],
    s.Ended:        _ended,
    s.Failed:       lambda t: [{"type": "error", "errorText": t.error}],
}
# fmt: on


# the reload


def _ui_messages(record: reading.TurnRecord, *, answered: bool) -> list[Json]:
    question = record.question
    parts: list[Json] = [{"type": "text", "text": question.content}]
    parts += [_file(file) for file in question.files]
    message = {"id": question.message_id, "role": "user", "parts": parts}
    if not answered:
        return [message]
    answer: list[Json] = []
    message_id = ""
    for part in record.parts:
        step = None if isinstance(part, reading.Tool) else part.step
        if step is not None and step.message_id != message_id:
            message_id = step.message_id
            answer.append({"type": "step-start"})
        answer += PARTS[type(part)](part)
    about = {"turnlog": {"error": record.error.error}} if record.error else {}
    shown = {"id": record.turn_id, "role": "assistant", "parts": answer, "metadata": about}
    return [message, shown] if answer or record.error else [message]


def _file(file: Json) -> Json:
    return {"type": "file", "mediaType": file.get("mediaType", ""), "filename": file.get("name"),
            "url": address(file)}  # fmt: skip


def _text_parts(part: reading.Text) -> list[Json]:
    end, *sources = _text_end(part.step)
    text = {"type": "text", "text": part.step.text, "state": "done"}
    return [text | {"providerMetadata": end["providerMetadata"]}, *sources]


def _thought_parts(part: reading.Thought) -> list[Json]:
    (end,) = _reasoning_end(part.step)
    thought = {"type": "reasoning", "id": part.step.id, "text": part.step.text, "state": "done"}
    return [thought | {"providerMetadata": end["providerMetadata"]}]


def _tool_parts(tool: reading.Tool) -> list[Json]:
    call = tool.call
    shown: Json = {"type": "dynamic-tool", "toolCallId": call.tool_use_id,
                   "toolName": call.tool_name, "input": call.args}  # fmt: skip
    if tool.approval is not None:
        shown["approval"] = {"id": tool.approval.approval_id}
    if tool.decision is not None:
        shown["approval"]["approved"] = tool.decision.approved
        if tool.decision.reason:
            shown["approval"]["reason"] = tool.decision.reason
    return [shown | _tool_state(tool)]


def _tool_state(tool: reading.Tool) -> Json:
    if tool.waits:
        return {"state": "approval-requested"}
    if tool.rejected:
        return {"state": "output-denied"}
    if tool.result is None:
        return {"state": "input-available"}
    if tool.result.success:
        return {"state": "output-available", "output": tool.result.result}
    return {"state": "output-error", "errorText": str(tool.result.error)}


PARTS: dict[type[Any], Any] = {
    reading.Text: _text_parts,
    reading.Thought: _thought_parts,
    reading.Tool: _tool_parts,
}
