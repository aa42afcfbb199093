"""`/v1/chat/completions` and `/v1/models`: the answer's text, and functions of the client.

A request is a session of its own, in which what was said before stands as the program told it;
with `metadata.conversation` it goes on in the session of that name, and only the last message is
read. This protocol cannot ask for an approval: the answer says that one is waited for.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from starlette.responses import Response

from turnlog.errors import BadInput
from turnlog.events.content import TokenUsage
from turnlog.ports import StartedTurn
from turnlog.transports import problem
from turnlog.transports.http.request import UserRequest, json_response
from turnlog.transports.protocols import answers, telling
from turnlog.transports.protocols import story as s
from turnlog.transports.protocols.files import with_files
from turnlog.transports.protocols.openai_api import asking, items, parameters
from turnlog.transports.protocols.openai_api.asking import Json
from turnlog.transports.protocols.openai_api.parameters import Share, Temperature, Tokens
from turnlog.transports.protocols.threads import session_of

EXAMPLE = {"model": asking.DEFAULT, "messages": [{"role": "user", "content": "Hi"}]}
DONE = b"data: [DONE]\n\n"
FINISH = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
# A turn that failed may have written: these clients send a request again by themselves after a 502.
ONCE = {"x-should-retry": "false"}
ASKED = "\n\n[This waits for an approval: {}. Decide at /api/approvals/{}.]"


class NewCompletion(msgspec.Struct, kw_only=True):
    """POST /v1/chat/completions"""

    messages: list[Json]
    model: str = asking.DEFAULT
    stream: bool | None = False
    stream_options: Json | None = None
    tools: list[Json] | None = None
    metadata: dict[str, str] | None = None
    reasoning_effort: str | None = None
    temperature: Temperature | None = None
    top_p: Share | None = None
    stop: str | list[str] | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None


async def models(request: UserRequest) -> Response:
    names = [asking.DEFAULT, *asking.agents(request)]
    return json_response({"object": "list", "data": [_model(name) for name in names]})


async def model(request: UserRequest) -> Response:
    name = request.id("model_id")
    asking.agent_of(request, name)  # or there is no such model
    return json_response(_model(name))


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "turnlog"}


async def create(request: UserRequest) -> Response:
    wish, hints = await parameters.read(request, NewCompletion)
    backend, user_id = request.backend, request.user.id
    agent = asking.agent_of(request, wish.model)
    turn, before = await _turn(request, wish, agent, hints)
    left_out = asking.left_out(request, agent, hints, wish.reasoning_effort)
    teller = Teller(turn, wish, int(await telling.began_at(backend, user_id, turn)))
    steps = telling.told(backend, user_id, turn, before)
    if wish.stream:
        return telling.Frames(steps, teller.tell, backend.metrics, last=DONE, headers=left_out)
    async for batch in steps:
        for step in batch:
            for _ in teller.tell(step):
                pass
    if teller.error:
        failed = problem.response(502, "The answer failed", *teller.error, path="/v1/")
        failed.headers.update(ONCE)
        return failed
    return json_response(teller.whole(), headers=left_out)


async def _turn(
    request: UserRequest, wish: NewCompletion, agent: str | None, hints: parameters.Hints
) -> tuple[StartedTurn, int | None]:
    backend, user_id = request.backend, request.user.id
    if not wish.messages:
        raise BadInput("'messages' is empty.")
    outputs: Json = {}
    for message in reversed(wish.messages):
        if message.get("role") != "tool":
            break
        outputs[str(message.get("tool_call_id"))] = asking.text_of(message.get("content"))
    if outputs:
        session_id, results = await asking.results(backend, user_id, outputs)
        return await answers.decide(backend, request.user, session_id, results)
    name = (wish.metadata or {}).get("conversation")
    key = asking.key_of(request)
    tools = wish.tools or []
    wishes = {"sampling": hints.sampling, **parameters.thinking(wish.reasoning_effort)}
    question = asking.question(wish.messages, new=not name, tools=tools, key=key, **wishes)
    files = asking.files_of(wish.messages, new=not name)
    session = await session_of(backend, request.user, name, agent) if name else None
    place = session.id if session else ""
    question = await with_files(backend, request.user, place, question, files)
    if earlier := await asking.sent_before(request, question, place, agent):
        return earlier, None
    session = session or await asking.new_session(request, agent, key)
    return await backend.start_turn(request.user, session.id, question), None


class Teller:
    """Steps as chunks; `whole` is the answer without streaming."""

    def __init__(self, turn: StartedTurn, wish: NewCompletion, created: int) -> None:
        name = asking.response_id(turn).replace("resp_", "chatcmpl-")
        self._head = {"id": name, "created": created, "model": wish.model}
        self._wants_usage = bool((wish.stream_options or {}).get("include_usage"))
        self._mine: set[str] = set()
        self._calls: list[Json] = []
        self._text = ""
        self._finish = "stop"
        self._usage: Json | None = None
        self.error: tuple[str, str] | None = None  # in words, and for programs

    def tell(self, step: s.Step) -> Iterator[Json]:
        rule = TABLE.get(type(step))
        if rule is not None:
            yield from rule(self, step)

    def whole(self) -> Json:
        message: Json = {"role": "assistant", "content": self._text or None, "refusal": None}
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": 0, "message": message, "finish_reason": self._finish, "logprobs": None}
        return {**self._head, "object": "chat.completion", "choices": [choice],
                "usage": self._usage}  # fmt: skip

    def _chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}

    def _say(self, text: str) -> Iterator[Json]:
        self._text += text
        yield self._chunk({"content": text})

    def began(self, step: s.Began) -> Iterator[Json]:
        self._mine = {tool["name"] for tool in step.question.client_tools}
        yield self._chunk({"role": "assistant", "content": ""})

    def text_began(self, step: s.TextBegan) -> Iterator[Json]:
        if self._text and step.block == 0:  # of another message
            yield from self._say("\n\n")

    def text_grew(self, step: s.TextGrew) -> Iterator[Json]:
        yield from self._say(step.text)

    def called(self, step: s.Called) -> Iterator[Json]:
        if step.call.tool_name in self._mine:
            function = {"name": step.call.tool_name,
                        "arguments": telling.encode(step.call.args).decode()}  # fmt: skip
            call = {"id": step.call.tool_use_id, "type": "function", "function": function}
            self._calls.append(call)
            yield self._chunk({"tool_calls": [{"index": len(self._calls) - 1, **call}]})

    def waits(self, step: s.Waits) -> Iterator[Json]:
        self._finish = "tool_calls" if self._calls else "stop"
        for asked in step.open:
            if asked.tool_name not in self._mine:
                yield from self._say(ASKED.format(asked.description, asked.approval_id))
        yield from self._end(step.used)

    def ended(self, step: s.Ended) -> Iterator[Json]:
        self._finish = FINISH.get(step.complete.stop_reason, "stop")
        yield from self._end(step.used)

    def _end(self, used: TokenUsage) -> Iterator[Json]:
        usage = items.usage_of(used)
        self._usage = {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "total_tokens": usage["total_tokens"],
            "prompt_tokens_details": usage["input_tokens_details"],
            "completion_tokens_details": usage["output_tokens_details"],
        }
        yield self._chunk({}, self._finish)
        if self._wants_usage:
            yield {**self._chunk({}), "choices": [], "usage": self._usage}

    def failed(self, step: s.Failed) -> Iterator[Json]:
        self.error = (step.error, step.code)
        yield {"error": {"message": step.error, "type": "server_error", "code": step.code}}


# fmt: off
TABLE: dict[type[s.Step], Any] = {
    s.Began:     Teller.began,
    s.TextBegan: Teller.text_began,
    s.TextGrew:  Teller.text_grew,
    s.Called:    Teller.called,
    s.Waits:     Teller.waits,
    s.Ended:     Teller.ended,
    s.Failed:    Teller.failed,
}
# fmt: on
