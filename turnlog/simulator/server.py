"""The Messages API on loopback, spoken by a script or by the conversation.

POST /v1/messages                as the API; also with ?beta=true
POST /v1/messages/count_tokens   a rough count
POST /v1/files, GET and DELETE   the Files API: requests may name what was uploaded
GET  /v1/models, /v1/models/ID   the models that are known by name; any other is answered too
POST /sim/script, GET /sim/state for another process: see `SimulatedClaude`
"""

import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnlog.projections.history.models import is_known

from . import conversation, models, rules, stream, tokens
from .cache import PromptCache
from .files import KeptFiles
from .listener import listen
from .playback import play
from .refusal import Refused
from .script import Entry, Failure, Json, Reply, failure, fresh_id
from .script_json import from_json


class SimulatedClaude:
    """A Claude for tests and demos.

    It checks every request as the API would. A request that passes takes the next entry of
    the script; when there is none, `answer` speaks (the conversation, unless another is given),
    at `pace` seconds between two events. Requests with cache marks are charged by a simulated
    prompt cache, whose clock is `now`. `requests` and `refused` hold the last `keep` of their kind.

    From another process: `POST /sim/script` with {"entries": [...]} in the form told in
    `script_json.py` queues them and gives {"pending": n}; `GET /sim/state` gives
    {"pending", "accepted", "refused": [{"status", "type", "message"}], "last_request"}.
    """

    def __init__(
        self,
        *entries: Entry,
        answer: Callable[[Json], Reply | Failure] | None = None,
        pace: float = 0.02,
        keep: int = 200,
        key: str | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """With a `key` only its bearer is answered, and nobody is told or may script anything."""
        self.requests: list[Json] = []
        self.refused: list[Refused] = []
        self.accepted = 0
        self._script: deque[Entry] = deque(entries)
        self._answer, self._pace, self._keep, self._key = answer, pace, keep, key
        self._cache = PromptCache(now)
        self.files = KeptFiles(now)
        control = [
            Route("/sim/script", self._queue_entries, methods=["POST"]),
            Route("/sim/state", self._state, methods=["GET"]),
        ]
        self.app = Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", self._count_tokens, methods=["POST"]),
                Route("/v1/files", self._add_file, methods=["POST"]),
                Route("/v1/files", self._list_files, methods=["GET"]),
                Route("/v1/files/{id}", self._one_file, methods=["GET", "DELETE"]),
                Route("/v1/models", self._models, methods=["GET"]),
                Route("/v1/models/{id}", self._model, methods=["GET"]),
                *([] if key else control),
            ]
        )

    def queue(self, *entries: Entry) -> None:
        """Add to the end of the script. A callable gets the request's body when its turn comes."""
        self._script.extend(entries)

    @property
    def pending(self) -> int:
        """How many entries of the script nobody has asked for yet."""
        return len(self._script)

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> AbstractAsyncContextManager[str]:
        """`async with sim.serve() as url:` listens until the block is left; port 0 is any."""
        return listen(self.app, host, port)

    # --- what to say ---

    def _accept(self, headers: Headers, raw: bytes) -> Json:
        try:
            self._check_key(headers)
            body = rules.check(headers, raw, resolve=lambda sent: self.files.resolve(headers, sent))
        except Refused as refused:
            self.refused = [*self.refused, refused][-self._keep :]
            raise
        self.accepted += 1
        self.requests.append(body)
        del self.requests[: -self._keep]
        return body

    def _check_key(self, headers: Headers) -> None:
        if self._key and headers.get("authorization") != f"Bearer {self._key}":
            raise Refused(401, "authentication_error", "invalid x-api-key")

    def _next(self, headers: Headers, body: Json) -> Reply | Failure:
        try:
            said = self._scripted(body) if self._script else self._unscripted(headers, body)
        except Exception as error:  # a callable's own: told to the client instead of hidden
            return failure("api_error", f"the script failed: {error!r}")
        key = headers.get("x-api-key") or headers.get("authorization", "")
        return self._cache.charge(said, body, key) if isinstance(said, Reply) else said

    def _scripted(self, body: Json) -> Reply | Failure:
        entry = self._script.popleft()
        return entry if isinstance(entry, Reply | Failure) else entry(body)

    def _unscripted(self, headers: Headers, body: Json) -> Reply | Failure:
        betas = headers.get("anthropic-beta", "")
        said = self._answer(body) if self._answer else conversation.answer(body, betas)
        return said.paced(self._pace) if isinstance(said, Reply) else said

    # --- routes ---

    async def _messages(self, request: Request) -> Response:
        request_id = fresh_id("req")
        try:
            body = self._accept(request.headers, await request.body())
        except Refused as refused:
            return _error(Failure(refused.status, refused.type, refused.message), request_id)
        said = self._next(request.headers, body)
        if isinstance(said, Failure):
            return _error(said, request_id)
        return play(said, body, request_id)

    async def _count_tokens(self, request: Request) -> Response:
        try:
            body = rules.check(
                request.headers,
                await request.body(),
                rules.COUNT_CHECKS,
                lambda sent: self.files.resolve(request.headers, sent),
            )
        except Refused as refused:
            told = Failure(refused.status, refused.type, refused.message)
            return _error(told, fresh_id("req"))
        return _json({"input_tokens": tokens.input_tokens(body)})

    async def _add_file(self, request: Request) -> Response:
        return await self._about_files(request, lambda: self.files.add(request))

    async def _list_files(self, request: Request) -> Response:
        async def listed() -> Json:
            return self.files.list(request.headers)

        return await self._about_files(request, listed)

    async def _one_file(self, request: Request) -> Response:
        work = self.files.delete if request.method == "DELETE" else self.files.get

        async def done() -> Json:
            return work(request.headers, request.path_params["id"])

        return await self._about_files(request, done)

    async def _about_files(self, request: Request, work: Callable[[], Awaitable[Json]]) -> Response:
        try:
            self._check_key(request.headers)
            rules.authenticated(request.headers)
            return _json(await work())
        except Refused as refused:
            told = Failure(refused.status, refused.type, refused.message)
            return _error(told, fresh_id("req"))

    async def _models(self, request: Request) -> Response:
        every = [models.described(name) for name in models.CURRENT]
        ends = {"first_id": models.CURRENT[0], "last_id": models.CURRENT[-1]}
        return _json({"data": every, "has_more": False, **ends})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["id"]
        if not is_known(name):
            return _error(failure("not_found_error", f"model: {name}"), fresh_id("req"))
        return _json(models.described(name))

    async def _queue_entries(self, request: Request) -> Response:
        if "application/json" not in request.headers.get("content-type", ""):
            # A page of some other site can send anything but this without being asked first.
            return _error(failure("invalid_request_error", "send application/json"), "")
        try:
            script = msgspec.json.decode(await request.body(), type=dict[str, list[Json]])
            self.queue(*map(from_json, script.get("entries", [])))
        except ValueError as error:  # msgspec's errors are ValueErrors too
            return _error(failure("invalid_request_error", str(error)), fresh_id("req"))
        return _json({"pending": self.pending})

    async def _state(self, request: Request) -> Response:
        state = {
            "pending": self.pending,
            "accepted": self.accepted,
            "refused": [vars(refused) for refused in self.refused],
            "last_request": self.requests[-1] if self.requests else None,
        }
        return _json(state)


def _json(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def _error(failed: Failure, request_id: str) -> Response:
    again = failed.status in (408, 409, 429) or failed.status >= 500
    headers = {"request-id": request_id, "x-should-retry": str(again).lower()}
    if failed.retry_after is not None:
        headers["retry-after"] = f"{failed.retry_after:g}"
    return _json(stream.error(failed.type, failed.message, request_id), failed.status, headers)
