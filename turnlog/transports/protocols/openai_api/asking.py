"""What a request of OpenAI's kind asks for: an agent, a session, a question, answers."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from turnlog.errors import BadInput, NotFound, Reused
from turnlog.ports import Backend, Decision, Question, StartedTurn
from turnlog.ports.tools import CLIENT_RESULT
from turnlog.transports.http.request import UserRequest
from turnlog.transports.protocols import telling
from turnlog.transports.protocols.files import file_ids
from turnlog.transports.protocols.understanding import understood

Json = dict[str, Any]
PREFIX = "resp_"
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


def response_id(turn: StartedTurn) -> str:
    """Says which turn it is, so that nothing has to be remembered."""
    return f"{PREFIX}{turn.session_id}_{turn.first_seq}"


async def turn_of(backend: Backend, user_id: str, name: str) -> StartedTurn:
    """The turn of a response. Raises NotFound for whatever is not this user's."""
    session_id, _, number = name.removeprefix(PREFIX).rpartition("_")
    unknown = NotFound(f"There is no response {name!r}.")
    if not name.startswith(PREFIX):
        raise unknown
    try:
        return await telling.turn_at(backend, user_id, session_id, number)
    except NotFound:
        raise unknown from None


async def session_after(backend: Backend, user_id: str, response: str) -> str:
    """The session that goes on after a response. Only the newest can be followed."""
    turn = await turn_of(backend, user_id, response)
    newest = await telling.newest(backend, user_id, turn.session_id)
    if newest is None or newest.turn_id != turn.turn_id:
        raise Reused(
            "The conversation has gone on since this response. Send the newest response's id, or "
            f"'conversation': {turn.session_id!r}."
        )
    return turn.session_id


@understood
def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))


@understood
def files_of(content: Any) -> list[str]:
    """Ids of our files: by id, or by address."""
    found: list[str] = []
    for part in content if isinstance(content, list) else []:
        if part.get("file_id"):
            found.append(str(part["file_id"]))
        elif address := part.get("image_url") or part.get("file_url"):
            url = address.get("url", "") if isinstance(address, dict) else address
            found += file_ids([str(url)])
        elif part.get("type") in ("input_image", "input_file", "file", "input_audio"):
            file_ids([""])  # which says what to do instead
    return found


@understood
def question(
    messages: Sequence[Json], *, new: bool, tools: Iterable[Json], key: str, **thinking: Any
) -> Question:
    """The last message is asked. In a new session the ones before are told as what they are."""
    *before, last = messages
    if last.get("role") != "user":
        raise BadInput("The last message must be the user's.")
    text = text_of(last.get("content"))
    told = [f"{m.get('role')}: {text_of(m.get('content'))}" for m in before if m.get("content")]
    if new and told:
        text = "Before this, in the conversation so far:\n\n" + "\n\n".join([*told, f"Now: {text}"])
    return Question(
        message=text,
        file_ids=files_of(last.get("content")),
        request_id=key or None,
        client_tools=[_client_tool(tool) for tool in tools],
        **thinking,
    )


def _client_tool(tool: Json) -> Json:
    if tool.get("type") != "function":
        raise BadInput(f"Tools of type {tool.get('type')!r} are not offered here: only functions.")
    function = tool.get("function") or tool
    return {name: function.get(name) for name in ("name", "description", "parameters")}


async def results(
    backend: Backend, user_id: str, outputs: dict[str, Any]
) -> tuple[str, dict[str, Decision]]:
    """The session that waits for these results of the client's calls, and its answers."""
    found: dict[str, Decision] = {}
    session_id = ""
    for approval in await backend.store.list_approvals(user_id, status="pending"):
        if approval.tool_use_id in outputs:
            value = decoded(outputs[approval.tool_use_id])
            found[approval.id] = Decision(approved=True, args={CLIENT_RESULT: value})
            session_id = approval.session_id
    if not found:
        raise NotFound("No call waits for these results.")
    return session_id, found


def decoded(text: Any) -> Any:
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else text
    except msgspec.DecodeError:
        return text


def key_of(request: UserRequest) -> str:
    return request.http.headers.get("idempotency-key", "")
