"""What a request of OpenAI's kind asks for: an agent, a session, a question, answers."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from turnlog.errors import BadInput, NotFound, Reused
from turnlog.events.base import Event
from turnlog.events.kinds import UserMessageSent
from turnlog.ports import Backend, Decision, Question, Session, StartedTurn
from turnlog.ports.tools import CLIENT_RESULT
from turnlog.transports.http.request import UserRequest
from turnlog.transports.protocols import answers, telling
from turnlog.transports.protocols.files import (
    NOT_OURS,
    Sent,
    file_at,
    file_in,
    files_in,
)
from turnlog.transports.protocols.openai_api.parameters import LEFT_OUT, Hints, thinking
from turnlog.transports.protocols.threads import session_of
from turnlog.transports.protocols.understanding import understood, value_of

Json = dict[str, Any]
PREFIX = "resp_"
FILES = ("input_image", "input_file", "image_url", "file", "input_audio")  # parts that are files
RECENT = 20  # sessions that are looked through
SENT_AGAIN_WITHIN = 1_800.0  # seconds: their clients wait for ten minutes, three times
DEFAULT = "turnlog"  # the model that is the server's first agent


def agents(request: UserRequest) -> list[str]:
    return [agent["id"] for agent in request.backend.config(request.user)["agents"]]


def agent_of(request: UserRequest, model: str) -> str | None:
    known = agents(request)
    if model != DEFAULT and model not in known:
        names = ", ".join([DEFAULT, *known])
        raise NotFound(
            f"There is no model {model!r}. The models are this server's agents: {names}."
        )
    return None if model == DEFAULT else model


def left_out(request: UserRequest, agent: str | None, hints: Hints, effort: Any) -> dict[str, str]:
    """The header that names the hints that were not followed, if there are any."""
    config = request.backend.config(request.user)
    rows = [row for row in config["agents"] if agent in (None, row["id"])]
    model = (rows[0]["model"] if rows else None) or config["model"]
    thinks = thinking(effort).get("enable_thinking", False)
    names = hints.left_out(model, thinks=thinks)
    return {LEFT_OUT: ", ".join(names)} if names else {}


def response_id(turn: StartedTurn, before: int | None = None) -> str:
    """Says which turn it is, so that nothing has to be remembered; and where it goes on, for what
    follows an answer of the client.
    """
    begins = "" if before is None else f"-{before}"
    return f"{PREFIX}{turn.session_id}_{turn.first_seq}{begins}"


async def turn_of(backend: Backend, user_id: str, name: str) -> tuple[StartedTurn, int | None]:
    """The turn of a response, and the number before its first event, where it goes on with a turn.
    Raises NotFound for whatever is not this user's.
    """
    session_id, _, place = name.removeprefix(PREFIX).rpartition("_")
    number, _, before = place.partition("-")
    unknown = NotFound(f"There is no response {name!r}.")
    if not name.startswith(PREFIX) or (
        "-" in place and not (before.isascii() and before.isdigit())
    ):
        raise unknown
    try:
        turn = await telling.turn_at(backend, user_id, session_id, number)
    except NotFound:
        raise unknown from None
    return turn, min(int(before[:18]), 2**62) if before else None


@understood
def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))


@understood
def files_of(messages: Sequence[Json], *, new: bool) -> list[Sent]:
    """The files of the question; in a new session also those of what was said before."""
    asked = messages if new else messages[-1:]
    contents = [message.get("content") for message in asked]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return files_in([part for part in parts if part.get("type") in FILES], _file)


def _file(part: Json) -> Sent:
    """By id, by address or as base64: as Responses have it, or as Chat Completions do."""
    given = part["file"] if part["type"] == "file" else part
    name = str(given.get("filename") or "")
    image = given.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image or given.get("file_url")
    if given.get("file_id"):
        return Sent(file_id=str(given["file_id"]))
    if data := given.get("file_data"):
        is_url = str(data).startswith("data:")
        return file_at(str(data), name) if is_url else file_in(str(data), "", name)
    if url:
        return file_at(str(url), name)
    raise BadInput(NOT_OURS)


@understood
def question(
    messages: Sequence[Json], *, new: bool, tools: Iterable[Json], key: str, **wishes: Any
) -> Question:
    """The last message is asked. In a new session the ones before are told as what they are."""
    *before, last = messages
    if last.get("role") != "user":
        raise BadInput("The last message must be the user's.")
    text = text_of(last.get("content"))
    told = [line for message in before for line in _quoted(message)]
    if new and told:
        text = "Before this, in the conversation so far:\n\n" + "\n\n".join([*told, f"Now: {text}"])
    return Question(
        message=text,
        request_id=key or None,
        client_tools=[_client_tool(tool) for tool in tools],
        **wishes,
    )


def _quoted(item: Json) -> Iterator[str]:
    """What a program says of earlier turns: messages, its functions' calls and what they gave."""
    if text := text_of(item.get("content")):
        yield f"{item.get('role')}: {text}"
    for call in item.get("tool_calls") or ():
        function = call["function"]
        yield f"assistant called {function['name']}: {function['arguments']}"
    if item.get("type") == "function_call":
        yield f"assistant called {item['name']}: {item['arguments']}"
    elif item.get("type") == "function_call_output":
        yield f"tool: {text_of(item.get('output'))}"


def _client_tool(tool: Json) -> Json:
    if tool.get("type") != "function":
        raise BadInput(f"Tools of type {tool.get('type')!r} are not offered here: only functions.")
    function = tool.get("function") or tool
    return {name: function.get(name) for name in ("name", "description", "parameters")}


async def results(
    backend: Backend, user_id: str, outputs: dict[str, Any], session_id: str = ""
) -> tuple[str, dict[str, Decision]]:
    """The session that waits for these results of the client's calls, and its answers; where none
    waits, the one that had them last: they may be sent again. `session_id`: in no other one.
    """
    asked = [
        approval
        for approval in await backend.store.approvals_of_calls(user_id, outputs)
        if session_id in ("", approval.session_id)
    ]
    waiting = [approval for approval in asked if approval.status == "pending"]
    taken = answers.newest([approval for approval in asked if approval.status == "approved"])
    decisions: dict[str, Decision] = {}
    for approval in waiting or taken:
        value = value_of(outputs[approval.tool_use_id])
        decisions[approval.id] = Decision(approved=True, args={CLIENT_RESULT: value})
        session_id = approval.session_id
    if not decisions:
        raise NotFound("No call waits for these results.")
    return session_id, decisions


def key_of(request: UserRequest) -> str:
    return request.http.headers.get("idempotency-key", "")


async def sent_before(
    request: UserRequest,
    question: Question,
    session_id: str,
    agent: str | None,
    previous: StartedTurn | None = None,
) -> StartedTurn | None:
    """OpenAI's clients send a request again by themselves when its answer is lost. They say so, but
    not of which request. The turn that it began: the newest of its session, if it has this question
    and is some minutes old; where no session is named, that of one with this agent which has no
    other turn. `previous`: it goes on after this response, so it is the turn that followed.
    """
    if previous is not None:
        return await _sent_after(request, question, previous)
    if not _is_retry(request) or question.request_id:
        return None
    backend, user_id = request.backend, request.user.id
    recent = await backend.store.list_sessions(user_id, limit=RECENT)
    speaker = agent or next(iter(agents(request)), None)
    alike = [session.id for session in recent if session.agent_id == speaker]
    for place in [session_id] if session_id else alike:
        turn = await telling.newest(backend, user_id, place)
        if turn is None or (not session_id and turn.first_seq > 0):
            continue
        if await _has_begun(request, question, turn):
            return turn
    return None


async def refuse_branch(request: UserRequest, previous: StartedTurn) -> None:
    """Raises Reused where the conversation has gone on since this response, and the request does
    not say that it may have been sent before.
    """
    if _is_retry(request) or key_of(request):
        return
    if await telling.following(request.backend, request.user.id, previous) is not None:
        raise _gone_on(previous)


async def _sent_after(
    request: UserRequest, question: Question, previous: StartedTurn
) -> StartedTurn | None:
    """The turn that followed on a response, if this request has begun it. None where nothing has
    followed, or its key says so: a key is looked for when a turn begins. Raises Reused where
    another request has begun it.
    """
    backend, user_id = request.backend, request.user.id
    turn = await telling.following(backend, user_id, previous)
    if turn is None:
        return None
    if question.request_id:
        found = await backend.store.find_turn(user_id, turn.session_id, turn.turn_id)
        if found is not None and found.request_id == question.request_id:
            return None
    elif _is_retry(request) and await _has_begun(request, question, turn):
        return turn
    raise _gone_on(previous)


def _is_retry(request: UserRequest) -> bool:
    return request.http.headers.get("x-stainless-retry-count", "0") != "0"


def _gone_on(previous: StartedTurn) -> Reused:
    return Reused(
        "The conversation has gone on since this response. Send the newest response's id, or "
        f"'conversation': {previous.session_id!r}."
    )


async def _has_begun(request: UserRequest, question: Question, turn: StartedTurn) -> bool:
    """Whether the turn has this question, and is some minutes old."""
    first = await telling.first_of(request.backend, request.user.id, turn)
    is_new = time.time() - telling.time_of(first) < SENT_AGAIN_WITHIN
    return is_new and _is_same(first.event, question)


def _is_same(asked: Event, question: Question) -> bool:
    match asked:
        case UserMessageSent(content=text, files=files, client_tools=tools):
            told = (text, [file["id"] for file in files], tools)
            return told == (question.message, question.file_ids, question.client_tools)
    return False


async def new_session(request: UserRequest, agent: str | None, key: str) -> Session:
    """A request with a key has a session that is named after the key: sent again, it finds the turn
    that it began."""
    if not key:
        return await request.backend.create_session(request.user, agent=agent)
    name = f"idempotency-key:{hashlib.sha256(key.encode()).hexdigest()}"
    return await session_of(request.backend, request.user, name, agent)
