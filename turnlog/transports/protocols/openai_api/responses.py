"""`/v1/responses` and `/v1/conversations`: a response is a turn, a conversation is a session.

Approvals are `mcp_approval_request` items, answered by `mcp_approval_response`; functions of the
client are `function_call` items, answered by `function_call_output`.
"""

from typing import Any

import msgspec
from starlette.responses import Response

from turnlog.errors import BadInput
from turnlog.ports import Decision, StartedTurn
from turnlog.transports.http.request import UserRequest, json_response
from turnlog.transports.protocols import answers, reading, telling
from turnlog.transports.protocols import story as s
from turnlog.transports.protocols.files import is_image, with_files
from turnlog.transports.protocols.openai_api import asking, items, parameters
from turnlog.transports.protocols.openai_api.asking import Json
from turnlog.transports.protocols.openai_api.parameters import Share, Temperature, Tokens
from turnlog.transports.protocols.threads import session_of

QUOTED = ("function_call", "function_call_output")  # of earlier turns, beside messages
EXAMPLE = {"model": asking.DEFAULT, "input": "Hi"}


class NewResponse(msgspec.Struct, kw_only=True):
    """POST /v1/responses. What is not named here is refused: see parameters.py."""

    input: str | list[Json]
    model: str = asking.DEFAULT
    instructions: str | None = None
    previous_response_id: str | None = None
    conversation: str | Json | None = None
    stream: bool | None = False
    stream_options: Json | None = None
    tools: list[Json] | None = None
    reasoning: Json | None = None
    include: list[str] | None = None
    background: bool | None = False
    metadata: dict[str, str] | None = None
    temperature: Temperature | None = None
    top_p: Share | None = None
    max_output_tokens: Tokens | None = None


async def create(request: UserRequest) -> Response:
    wish, hints = await parameters.read(request, NewResponse)
    parameters.check_included(wish.include)
    backend, user_id = request.backend, request.user.id
    agent = asking.agent_of(request, wish.model)
    turn, before = await _turn(request, wish, agent, hints)
    left_out = asking.left_out(request, agent, hints, parameters.effort_of(wish.reasoning))
    teller = await _teller(request, turn, wish.model, before=before, metadata=wish.metadata)
    if wish.background and not wish.stream:
        # The turn goes on by itself; `retrieve` shows it.
        return json_response(teller.response, headers=left_out)
    steps = telling.told(backend, user_id, turn, before)
    if wish.stream:
        return telling.Frames(steps, teller.tell, backend.metrics, frame=_frame, headers=left_out)
    async for batch in steps:
        for step in batch:
            _run(teller, step)
    return json_response(teller.response, headers=left_out)


async def retrieve(request: UserRequest) -> Response:
    """A response as it is now; with `stream=true` from its start, as it goes on, or after the
    `sequence_number` that `starting_after` says.
    """
    backend, user_id = request.backend, request.user.id
    after = request.number("starting_after", -1, least=-1, most=2**53)
    if after >= 0 and not request.flag("stream"):
        raise BadInput("'starting_after' goes with 'stream=true'.")
    turn, before = await asking.turn_of(backend, user_id, request.id("response_id"))
    session = await backend.store.get_session(user_id, turn.session_id)
    teller = await _teller(request, turn, session.agent_id, before=before, after=after)
    newest = await backend.store.newest_turn(user_id, turn.session_id)
    running = newest is not None and newest.id == turn.turn_id and newest.state == "running"
    if request.flag("stream"):
        steps = telling.told(backend, user_id, turn, before)
        return telling.Frames(steps, teller.tell, backend.metrics, frame=_frame)
    if running:
        for step in telling.all_steps(await telling.entries_of(backend, user_id, turn), before):
            _run(teller, step)
    else:
        async for batch in telling.told(backend, user_id, turn, before):
            for step in batch:
                _run(teller, step)
    return json_response(teller.response)


async def cancel(request: UserRequest) -> Response:
    backend, user_id = request.backend, request.user.id
    turn, _ = await asking.turn_of(backend, user_id, request.id("response_id"))
    await backend.stop_turn(user_id, turn.session_id, turn.turn_id)
    return await retrieve(request)


async def conversation(request: UserRequest) -> Response:
    store, session_id = request.backend.store, request.id("conversation_id")
    session = await store.get_session(request.user.id, session_id)
    return json_response(_conversation(session.id, session.created_at, session.title))


class NewConversation(msgspec.Struct, kw_only=True):
    """POST /v1/conversations"""

    metadata: dict[str, str] | None = None


async def create_conversation(request: UserRequest) -> Response:
    wish = await request.body(NewConversation)
    about = wish.metadata or {}
    session = await request.backend.create_session(
        request.user, title=about.get("title"), agent=about.get("agent")
    )
    return json_response(_conversation(session.id, session.created_at, session.title))


async def list_items(request: UserRequest) -> Response:
    """The newest items first, as theirs; `order=asc` turns the page around."""
    limit = request.number("limit", 100, least=1, most=1000)
    backend, user_id = request.backend, request.user.id
    page = await telling.page_of(
        backend, user_id, request.id("conversation_id"), limit=min(limit * 5, 1000)
    )
    listed = [item for record in reading.turns(page) for item in items_of(record)][-limit:]
    if request.query("order") != "asc":
        listed.reverse()
    ends = {"first_id": listed[0]["id"], "last_id": listed[-1]["id"]} if listed else {}
    return json_response({"object": "list", "data": listed, "has_more": False, **ends})


def items_of(record: reading.TurnRecord) -> list[Json]:
    """The question, and the output of its response."""
    turn = StartedTurn(turn_id=record.turn_id, session_id="", first_seq=record.first_seq)
    teller = items.Teller(turn, "", 0)
    content: list[Json] = [{"type": "input_text", "text": record.question.content}]
    content += [_attached(file) for file in record.question.files]
    question = {"id": record.question.message_id, "type": "message", "role": "user",
             "status": "completed", "content": content}  # fmt: skip
    for step in record.steps:
        _run(teller, step)
    return [question, *teller.response["output"]]


def _attached(file: Json) -> Json:
    if is_image(file):
        return {"type": "input_image", "file_id": file["id"], "detail": "auto"}
    return {"type": "input_file", "file_id": file["id"], "filename": file.get("name")}


# inside


async def _turn(
    request: UserRequest, wish: NewResponse, agent: str | None, hints: parameters.Hints
) -> tuple[StartedTurn, int | None]:
    backend, user_id = request.backend, request.user.id
    sent = wish.input
    given: list[Json] = [{"role": "user", "content": sent}] if isinstance(sent, str) else sent
    if not given:
        raise BadInput("'input' is empty.")
    named = wish.conversation
    name = named.get("id") if isinstance(named, dict) else named
    previous: StartedTurn | None = None
    if wish.previous_response_id:
        previous, _ = await asking.turn_of(backend, user_id, wish.previous_response_id)
        session_id = previous.session_id
    elif name:
        session_id = (await session_of(backend, request.user, str(name), agent)).id
    else:
        session_id = ""
    if decisions := await _answers(request, given, session_id):
        asking_session = session_id or await _session_of(request, next(iter(decisions)))
        return await answers.decide(backend, request.user, asking_session, decisions)
    if previous is not None:
        await asking.refuse_branch(request, previous)  # before its files are kept
    messages = [item for item in given if item.get("role") or item.get("type") in QUOTED]
    if wish.instructions:
        messages = [{"role": "system", "content": wish.instructions}, *messages]
    if not messages:
        raise BadInput("'input' has no message.")
    new = not session_id
    thought = parameters.thinking(parameters.effort_of(wish.reasoning))
    key = asking.key_of(request)
    question = asking.question(
        messages,
        new=new or bool(wish.instructions),
        tools=wish.tools or [],
        key=key,
        sampling=hints.sampling,
        **thought,
    )
    files = asking.files_of(messages, new=new)
    question = await with_files(backend, request.user, session_id, question, files)
    if earlier := await asking.sent_before(request, question, session_id, agent, previous):
        return earlier, None
    if new:
        session_id = (await asking.new_session(request, agent, key)).id
    return await backend.start_turn(request.user, session_id, question), None


async def _session_of(request: UserRequest, approval_id: str) -> str:
    approval = await request.backend.store.get_approval(request.user.id, approval_id)
    return approval.session_id


async def _answers(request: UserRequest, given: list[Json], session_id: str) -> dict[str, Decision]:
    """Only what comes after the last message: a program may send all that was before."""
    decisions: dict[str, Decision] = {}
    outputs: Json = {}
    last = max((at for at, item in enumerate(given) if item.get("role")), default=-1)
    for item in given[last + 1 :]:
        if item.get("type") == "mcp_approval_response":
            approved = item.get("approve") is True
            decision = Decision(approved=approved, reason=item.get("reason"))
            decisions[str(item.get("approval_request_id"))] = decision
        elif item.get("type") == "function_call_output":
            outputs[str(item.get("call_id"))] = item.get("output")
    if outputs:
        user_id = request.user.id
        _, results = await asking.results(request.backend, user_id, outputs, session_id)
        decisions |= results
    return decisions


async def _teller(request: UserRequest, turn: StartedTurn, model: str, **more: Any) -> items.Teller:
    created = await telling.began_at(request.backend, request.user.id, turn)
    return items.Teller(turn, model, created, **more)


def _run(teller: items.Teller, step: s.Step) -> None:
    for _ in teller.tell(step):
        pass


def _frame(event: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), telling.encode(event))


def _conversation(session_id: str, created: str, title: str) -> Json:
    return {"id": session_id, "object": "conversation", "created_at": items.created_at(created),
            "metadata": {"title": title} if title else {}}  # fmt: skip
