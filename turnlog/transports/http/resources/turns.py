"""Turns over HTTP: asked, stopped, watched, reloaded and proved."""

import asyncio
from contextlib import aclosing
from functools import partial
from typing import Literal

import msgspec
from starlette.responses import Response

from turnlog.errors import Busy, Closing, Forbidden, NotFound
from turnlog.events.cursor import Cursor, parse
from turnlog.ports import Backend, Give, InLine, Question
from turnlog.projections.proof import prove
from turnlog.transports import splicing, sse, wire
from turnlog.transports.http.request import MOST_BYTES, UserRequest, json_response
from turnlog.transports.http.resources import audit

MOST_EVENTS = 1000  # of one page
IN_LINE = ' Or send it with "onBusy": "enqueue": then it waits in line.'
ESCAPED = 12  # bytes of JSON for one character: two surrogates, as in "\\ud83d\\ude00"
ALIVE_EVERY = 10.0  # seconds: what a stream shows while its message waits in line
BEGINNING = "-1.-1"  # the cursor of a session in which nothing has happened


class NewMessage(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """POST /api/sessions/{id}/messages"""

    message: str
    file_ids: list[str] = []
    enable_thinking: bool | None = None
    thinking_budget: int | None = None
    request_id: str | None = None
    on_busy: Literal["reject", "enqueue"] = "reject"


async def send(request: UserRequest) -> Response:
    """The answer streams until `complete` or `error`, also while a person must decide."""
    question = await _question(request)
    backend, user_id = request.backend, request.user.id
    try:
        accepted = await backend.accept(request.user, request.id("session_id"), question)
    except Busy as busy:
        advice = IN_LINE if question.on_busy == "reject" else ""
        raise Busy(busy.turn_id, waiting=busy.waiting, advice=advice) from None
    if request.accepts("text/event-stream"):
        if isinstance(accepted, InLine):
            following = partial(_when_begun, backend, user_id, accepted)
        else:
            following = partial(backend.follow_turn, user_id, accepted)
        return sse.EventStream(following, backend.metrics, of_turn=True)
    place = {"place": accepted.place} if isinstance(accepted, InLine) else {}
    return json_response({"turnId": accepted.turn_id} | place, 202)


async def _when_begun(
    backend: Backend, user_id: str, in_line: InLine, give: Give | None
) -> sse.Live:
    """Signs of life while the message waits, then the events of its turn.

    Where its turn does not begin here, the stream ends: the same request, sent again, goes on.
    """
    turn = None
    while turn is None:
        try:
            async with asyncio.timeout(ALIVE_EVERY):
                turn = await backend.begun(in_line)
        except TimeoutError:
            yield []
        except (Closing, NotFound):
            return
    async with aclosing(backend.follow_turn(user_id, turn, give)) as batches:
        async for batch in batches:
            yield batch


async def estimate(request: UserRequest) -> Response:
    """What a message would cost, before it is sent."""
    question = await _question(request)
    session_id = request.id("session_id")
    return json_response(await request.backend.estimates.of(request.user, session_id, question))


async def stop(request: UserRequest) -> Response:
    """What runs or waits; with `turnId` only that turn: the next one may have begun by now."""
    session_id, turn_id = request.id("session_id"), request.query("turnId") or None
    stopped = await request.backend.stop_turn(request.user.id, session_id, turn_id)
    return json_response({"stopped": stopped})


async def stream(request: UserRequest) -> Response:
    """What was missed, then live; or one `resync_required`."""
    backend, user_id = request.backend, request.user.id
    session = await backend.store.get_session(user_id, request.id("session_id"))
    after = _after(request)
    if request.http.method == "HEAD":
        return Response(headers=sse.HEADERS)  # it has no body, so nobody would see it end
    following = partial(backend.follow, user_id, session.id, after)
    return sse.EventStream(following, backend.metrics)


async def reload(request: UserRequest) -> Response:
    """The newest page of kept, visible events, and the cursor to go on from."""
    limit = request.number("limit", 100, least=1, most=MOST_EVENTS)
    before = request.number("before", 2**62, least=0, most=2**62)
    page = await request.backend.store.tail(
        request.user.id, request.id("session_id"), limit=limit, before=before
    )
    events = splicing.spliced([row for row in page if not row.is_internal])
    more = page[0].seq if page and page[0].seq else None
    cursor = page[-1].cursor if page else BEGINNING
    return json_response({"events": events, "before": more, "cursor": cursor})


async def events(request: UserRequest) -> Response:
    """The log itself; with internal events for auditors, of anybody, and each such read is kept."""
    internal = request.flag("internal")
    limit = request.number("limit", 100, least=1, most=MOST_EVENTS)
    after = request.number("after", -1, least=-1, most=2**62)
    store, session_id, user = request.backend.store, request.id("session_id"), request.user
    audited = internal and user.auditor
    owner = await audit.whose(request, f"events after {after}") if audited else user.id
    page = await store.read(owner, session_id, after=after, limit=limit)
    if internal and not audited:  # of one's own; someone else's is not found
        raise Forbidden("Internal events are for auditors.")
    if audited:
        events = [wire.encode_for_audit(entry) for entry in page]
    else:
        events = [wire.encode(each, as_kept=True) for each in page if not each.envelope.internal]
    more = page[-1].seq if len(page) == limit else None
    return json_response({"events": [*map(msgspec.Raw, events)], "after": more})


async def verify(request: UserRequest) -> Response:
    store = request.backend.store
    user, session_id = request.user, request.id("session_id")
    owner = await audit.whose(request, "verify") if user.auditor else user.id
    session = await store.get_session(owner, session_id)
    proof = prove(await store.evidence(session.id), store.seals)
    answer = {
        "first": proof.first,
        "last": proof.last,
        "count": proof.count,
        "gaps": proof.gaps,
        "duplicates": proof.duplicates,
        "unpairedTools": proof.unpaired_tools,
        "problems": proof.problems,
        "ok": proof.ok,
    }
    return json_response(answer)


async def _question(request: UserRequest) -> Question:
    """Its JSON may have as many bytes as the longest question takes, however it is escaped."""
    most = MOST_BYTES + ESCAPED * request.backend.most_characters
    return Question(**msgspec.structs.asdict(await request.body(NewMessage, most)))


def _after(request: UserRequest) -> Cursor | None:
    # A browser that reconnects asks for the same address again: the header is the newer one.
    text = request.http.headers.get("last-event-id") or request.query("after")
    return parse(text) if text else None
