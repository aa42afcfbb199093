"""Sends notices: from the outbox to each endpoint, again and again until it takes them.

Each endpoint has a task of its own, so that one that is slow or gone holds up nobody. A turn is
never held up: it writes to the outbox, and waits for no one here.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from turnlog.events.clock import in_seconds, now, seconds_until
from turnlog.net import seconds_asked, spread
from turnlog.ports import Notice, Outbox
from turnlog.projections.notices import Notices
from turnlog.webhooks import signature
from turnlog.webhooks.addresses import Refused, Resolver, is_public, literal
from turnlog.webhooks.endpoint import Endpoint

_log = logging.getLogger(__name__)
# Seconds until the next try, after so many: about three days in all, as Standard Webhooks advises.
PAUSES = (5, 30, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
TIMEOUT = 15.0  # seconds for one try
CLAIM = 20.0  # seconds that a notice is this process's to send
AT_ONCE = 4  # to one endpoint
LOOKS = 30.0  # seconds until a task looks again: another process may have written
KEPT = 30 * 86_400.0  # seconds that a notice stays after it was written
SWEEPS = 3_600.0  # seconds between two looks for old ones
GONE = 410  # "the endpoint should be disabled": this notice is not sent again


class Webhooks:
    """The endpoints of a server. `async with` it, and notices are sent."""

    def __init__(self, endpoints: Sequence[Endpoint], outbox: Outbox) -> None:
        self._outbox = outbox
        self._senders = [_Sender(each, outbox) for each in endpoints]
        self._tasks: list[asyncio.Task[None]] = []
        if endpoints:
            outbox.announcer = Notices({each.name: each.events for each in endpoints})

    async def __aenter__(self) -> None:
        if self._senders:
            loop = asyncio.get_running_loop()

            def wake() -> None:
                loop.call_soon_threadsafe(self._wake)

            self._outbox.on_written = wake
            self._tasks = [asyncio.create_task(each.run()) for each in self._senders]
            self._tasks.append(asyncio.create_task(self._sweep()))

    async def __aexit__(self, *exc: object) -> None:
        """What is not sent yet is sent by the next process."""
        self._outbox.on_written = lambda: None
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []

    def _wake(self) -> None:
        for sender in self._senders:
            sender.wake.set()

    async def _sweep(self) -> None:
        while True:
            try:
                await self._outbox.forget(in_seconds(-KEPT))
            except Exception:
                _log.exception("old notices could not be removed")
            await asyncio.sleep(SWEEPS)


def _words(error: Exception) -> str:
    """Our own words for an address that is refused, which aiohttp wraps; else the error's type."""
    inner = getattr(error, "os_error", error)
    return str(inner) if isinstance(inner, Refused) else type(error).__name__


class _Sender:
    """Sends what is due to one endpoint."""

    def __init__(self, endpoint: Endpoint, outbox: Outbox) -> None:
        self._endpoint = endpoint
        self._outbox = outbox
        self.wake = asyncio.Event()

    async def run(self) -> None:
        import aiohttp  # it takes a tenth of a second, and most servers tell nobody

        connector = aiohttp.TCPConnector(
            resolver=Resolver(allow_private=self._endpoint.allow_private),  # type: ignore[arg-type]  # not a subclass
            use_dns_cache=False,
            limit=AT_ONCE,
            force_close=True,  # the address is judged anew for each notice
        )
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        jar = aiohttp.DummyCookieJar()
        session = aiohttp.ClientSession(
            connector=connector, timeout=timeout, trust_env=False, cookie_jar=jar
        )
        async with session as http:
            while True:
                self.wake.clear()
                try:
                    pause = await self._send_due(http)
                except Exception:
                    _log.exception("notices could not be sent")
                    pause = LOOKS
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self.wake.wait()

    async def _send_due(self, http: Any) -> float:
        """Send what is due; seconds until more may be."""
        name = self._endpoint.name
        while due := await self._outbox.claim(name, now(), in_seconds(CLAIM), AT_ONCE):
            await asyncio.gather(*(self._send(http, notice) for notice in due))
        soonest = await self._outbox.next_due(name)
        return LOOKS if soonest is None else min(LOOKS, max(0.05, seconds_until(soonest)))

    async def _send(self, http: Any, notice: Notice) -> None:
        status, outcome, wait = await self._try(http, notice)
        tries = notice.tries + 1
        if status == "waiting" and tries > len(PAUSES):
            status = "failed"
        if status != "delivered":
            _log.warning(
                "webhook %s: %s was not taken (%s)", self._endpoint.name, notice.type, outcome
            )
        pause = max(wait, spread(PAUSES[min(tries, len(PAUSES)) - 1]))
        due_at = in_seconds(min(pause, PAUSES[-1])) if status == "waiting" else notice.due_at
        settled = replace(notice, status=status, tries=tries, due_at=due_at, outcome=outcome)
        await self._outbox.settle(settled)

    async def _try(self, http: Any, notice: Notice) -> tuple[Any, str, float]:
        """What became of one try, in a few words; and how long the endpoint asks us to wait."""
        import aiohttp

        body = notice.body.encode()
        signed = signature.headers(self._endpoint.keys, notice.id, int(time.time()), body)
        sent = signed | {"content-type": "application/json", "user-agent": "turnlog"}
        try:
            self._refuse_private()
            url = self._endpoint.url
            post = http.post(url, data=body, headers=sent, allow_redirects=False)
            async with post as response:  # its body is not read
                if 200 <= response.status < 300:
                    return "delivered", str(response.status), 0.0
                wait = seconds_asked(response.headers.get("retry-after")) or 0.0
                return (
                    "failed" if response.status == GONE else "waiting",
                    str(response.status),
                    wait,
                )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return "waiting", _words(error), 0.0

    def _refuse_private(self) -> None:
        """An address that is no name is not looked up, so it is judged here."""
        address = literal(urlsplit(self._endpoint.url).hostname or "")
        if address is not None and not self._endpoint.allow_private and not is_public(address):
            raise Refused("the address is private; see 'allow_private'")
