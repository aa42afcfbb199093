"""AG-UI 1.0 at `/agui`: a thread is a session, a run is a turn or what goes on with one.

A run that ends in an interrupt waits for a person; `resume` of the next run answers. Tools of the
client are offered to the model, and their results come with the next run, too. A run with a
`runId` that the thread has seen is told again; a run without anything new shows the thread.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.responses import Response

from turnlog.errors import BadInput
from turnlog.ports import Approval, Backend, Decision, Question, Session, StartedTurn
from turnlog.ports.tools import CLIENT_RESULT
from turnlog.transports.http.request import UserRequest
from turnlog.transports.protocols import answers, reading, telling
from turnlog.transports.protocols import story as s
from turnlog.transports.protocols.agui.events import Nothing, Snapshot, Teller
from turnlog.transports.protocols.files import Sent, file_at, file_in, files_in, with_files
from turnlog.transports.protocols.threads import session_of
from turnlog.transports.protocols.understanding import understood, value_of

Json = dict[str, Any]
MOST_BYTES = 16_000_000  # of a request: clients send the whole conversation
MOST_SHOWN = 1000  # events of a thread that is shown again
EXAMPLE = {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "Hi"}]}


class RunInput(msgspec.Struct, kw_only=True, rename="camel"):
    """RunAgentInput. Of the messages only what is new is read: the log has the others."""

    thread_id: str
    run_id: str
    messages: list[Json] = []
    tools: list[Json] = []
    context: list[Json] = []
    state: Any = None
    forwarded_props: Any = None
    resume: list[Json] = []
    protocol_version: str = ""  # clients before 1.0 say nothing


async def run(request: UserRequest) -> Response:
    given = await request.body(RunInput, MOST_BYTES)
    backend, user_id = request.backend, request.user.id
    props = given.forwarded_props if isinstance(given.forwarded_props, dict) else {}
    agent = props.get("agent")
    session = await session_of(backend, request.user, given.thread_id, agent)
    teller = Teller(given.thread_id, given.run_id, session, old=not given.protocol_version)
    turn, before = await _turn(request, given, session)
    if turn is None:
        steps = _shown_again(backend, user_id, session)
    else:
        steps = telling.told(backend, user_id, turn, before)
    return telling.Frames(steps, teller.tell, backend.metrics)


async def _turn(
    request: UserRequest, given: RunInput, session: Session
) -> tuple[StartedTurn | None, int | None]:
    """What the run is about: a question, answers, the turn that runs; or nothing new."""
    backend, user_id = request.backend, request.user.id
    results = _results(given)
    asked = [
        approval
        for approval in await backend.store.approvals_of_calls(user_id, results)
        if approval.session_id == session.id
    ]
    decisions = {str(entry.get("interruptId")): _decision(entry) for entry in given.resume}
    decisions |= _given([each for each in asked if each.status == "pending"], results)
    if decisions:
        return await answers.decide(backend, request.user, session.id, decisions)
    if again := await _given_before(request, session, _given(answers.newest(asked), results)):
        return again
    last = given.messages[-1] if given.messages else {}
    if last.get("role") == "user":
        question = await with_files(
            backend, request.user, session.id, _question(given, last), _files(last)
        )
        return await backend.start_turn(request.user, session.id, question), None
    if await telling.is_running(backend, user_id, session.id):
        return await telling.newest(backend, user_id, session.id), None
    return None, None


async def _given_before(
    request: UserRequest, session: Session, results: dict[str, Decision]
) -> answers.Taken | None:
    """The newest turn, if it has had these results of the client's tools, and goes on from them."""
    if not results:
        return None
    backend, user = request.backend, request.user
    newest = await telling.newest(backend, user.id, session.id)
    again = await answers.sent_before(backend, user, session.id, results)
    return again if again and newest and again[0].turn_id == newest.turn_id else None


async def _shown_again(backend: Backend, user_id: str, session: Session) -> telling.Steps:
    page = await telling.page_of(backend, user_id, session.id, limit=MOST_SHOWN)
    steps = telling.all_steps(page)
    kinds = (s.Began, s.Waits)  # which tools are the client's, and what is open
    open_steps = [step for step in steps if isinstance(step, kinds)]
    waits = bool(steps) and isinstance(steps[-1], s.Waits)
    yield [Snapshot(reading.turns(page)), *open_steps, *([] if waits else [Nothing()])]


# what the client says


@understood
def _question(given: RunInput, message: Json) -> Question:
    texts = [part["text"] for part in _parts(message) if part.get("type") == "text"]
    context = [f"{c.get('description')}: {c.get('value')}" for c in given.context]
    return Question(
        message="\n".join([*context, *texts]),
        request_id=given.run_id,
        client_tools=[
            {name: tool.get(name) for name in ("name", "description", "parameters")}
            for tool in given.tools
        ],
    )


def _parts(message: Json) -> list[Json]:
    content = message.get("content") or ""
    text: list[Json] = [{"type": "text", "text": content}]
    return text if isinstance(content, str) else content


@understood
def _files(message: Json) -> list[Sent]:
    return files_in([part for part in _parts(message) if part.get("type") != "text"], _file)


def _file(part: Json) -> Sent:
    """By address, by id or as base64; before 1.0 such a part was called `binary`."""
    if part.get("type") == "binary":
        kind = "id" if part.get("id") else "url" if part.get("url") else "data"
        source = {"type": kind, "value": part[kind], "mimeType": part.get("mimeType")}
    else:
        source = part["source"]
    kind, value, name = source["type"], str(source["value"]), str(part.get("filename") or "")
    if kind in ("id", "file"):
        return Sent(file_id=value)
    if kind == "data":
        return file_in(value, str(source.get("mimeType") or ""), name)
    return file_at(value, name)


def _results(given: RunInput) -> dict[str, Json]:
    """What the client's own tools gave, by call: the messages at the end."""
    results: dict[str, Json] = {}
    for message in reversed(given.messages):
        if message.get("role") != "tool":
            break
        results[str(message.get("toolCallId"))] = message
    return results


def _given(asked: Sequence[Approval], results: dict[str, Json]) -> dict[str, Decision]:
    return {each.id: _result(results[each.tool_use_id]) for each in asked}


@understood
def _decision(entry: Json) -> Decision:
    payload = entry.get("payload")
    if entry.get("status") == "cancelled":
        return Decision(approved=False)
    if isinstance(payload, bool):
        return Decision(approved=payload)
    if not isinstance(payload, dict) or not isinstance(payload.get("approved"), bool):
        raise BadInput('The payload of a resumed interrupt must be {"approved": true} or false.')
    return Decision(
        approved=payload["approved"], reason=payload.get("reason"), args=payload.get("args")
    )


@understood
def _result(message: Json) -> Decision:
    if message.get("error"):
        return Decision(approved=False, reason=str(message["error"]))
    return Decision(approved=True, args={CLIENT_RESULT: value_of(message.get("content"))})
