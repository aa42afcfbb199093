"""Anthropic's Files API: what is sent again and again is left there once, and named after that.

Only where the settings say so: the files then rest with the provider, for so many days at most.
Where leaving one there fails, its bytes are sent, as they are without this.
"""

import asyncio
import base64
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnlog.engines.claude.platforms.sdk import connect
from turnlog.errors import NotFound, TurnlogError
from turnlog.events.clock import in_seconds, now
from turnlog.net import back_off, spread
from turnlog.ports.files import FileTable, Part
from turnlog.ports.storage.deposits import Deposit, Deposits, FileSource

if TYPE_CHECKING:  # importing the SDK takes seconds: only the first file needs it
    from anthropic import AsyncAnthropic

_log = logging.getLogger(__name__)
Request = dict[str, Any]
LEAST = 100_000  # characters of base64; less than that is sent each time
A_DAY = 86_400
MARGIN = 3_600.0  # seconds before it expires in which a deposit is not used any more
SILENCE = 60.0  # seconds between two pieces of an answer
LONGEST = 120.0  # seconds that one file may take
REST = 60.0  # seconds without another try after one has failed
MOST_KNOWN = 2_000  # deposits that are remembered without a look at the table
AT_ONCE = 100  # deposits that are removed between two looks at the table
EVERY = 3_600.0  # seconds between two looks for what is to be removed
ENDINGS = {"application/pdf": "pdf", "image/jpeg": "jpg", "image/png": "png"}


def account_of(api_key: str, base_url: str | None) -> str:
    """A fingerprint: files of one account are unknown to another, and the key is not kept."""
    return sha256(f"{base_url or ''}\n{api_key}".encode()).hexdigest()[:32]


class ProviderFiles:
    """Leaves parts of files with the provider, and removes those whose file is deleted."""

    def __init__(
        self,
        deposits: Deposits,
        files: FileTable,
        *,
        api_key: str,
        base_url: str | None,
        days: int,
    ) -> None:
        """`days` 0: nothing is left there, and what was left before is removed."""
        self._deposits = deposits
        self._files = files
        self._api_key = api_key
        self._base_url = base_url
        self._account = account_of(api_key, base_url)
        self._seconds = days * A_DAY
        self._known: dict[tuple[str, Part], Deposit] = {}
        self._leaving: dict[tuple[str, Part], asyncio.Task[Deposit | None]] = {}
        self._resting_until = 0.0
        self._made: AsyncAnthropic | None = None
        self._wake = asyncio.Event()
        self._removing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "ProviderFiles":
        self._removing = asyncio.create_task(self._remove_for_ever(), name="turnlog-deposits")
        return self

    async def __aexit__(self, *exc: object) -> None:
        tasks = [*self._leaving.values(), *([self._removing] if self._removing else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._made is not None:
            await self._made.close()

    # in a request

    async def named(self, request: Request) -> tuple[Request, list[Deposit]]:
        """The same request with names instead of bytes, and which deposits these are."""
        if not self._seconds:
            return request, []
        sources = [source for block in _blocks(request) if (source := _large(block))]
        found = await asyncio.gather(*(self._deposit(each) for each in sources))
        used = {id(s): d for s, d in zip(sources, found, strict=True) if d is not None}
        if not used:
            return request, []
        messages = [_with_names(message, used) for message in request["messages"]]
        return request | {"messages": messages}, list(used.values())

    async def forget(self, gone: Sequence[Deposit]) -> None:
        """The provider does not have them any more."""
        for deposit in gone:
            self._known.pop((deposit.file_id, deposit.part), None)
            await self._deposits.forget(deposit)

    # one file

    async def _deposit(self, source: FileSource) -> Deposit | None:
        """None: its bytes have to be sent."""
        key, soon = (source.file_id, source.part), in_seconds(MARGIN)
        known = self._known.get(key)
        if known is None or known.expires_at <= soon:
            known = await self._deposits.find(
                self._account, source.user_id, source.file_id, source.part, soon
            )
        if known is None:
            if time.monotonic() < self._resting_until:
                return None
            if key not in self._leaving:
                self._leaving[key] = asyncio.create_task(self._leave(source))
                self._leaving[key].add_done_callback(lambda _: self._leaving.pop(key, None))
            # Who stops waiting does not stop it: it would be there without its row.
            known = await asyncio.shield(self._leaving[key])
        if known is not None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = known
        return known

    async def _leave(self, source: FileSource) -> Deposit | None:
        name = f"{source.file_id}.{ENDINGS.get(source['media_type'], 'bin')}"
        try:
            async with asyncio.timeout(LONGEST):
                client = await self._client()
                content = await asyncio.to_thread(base64.b64decode, source["data"])
                left = await client.files.upload(
                    file=(name, content, source["media_type"]), expires_in_seconds=self._seconds
                )
        except Exception as error:  # whatever it is: the bytes can be sent
            _log.warning("a file could not be left with the provider: %s", type(error).__name__)
            self._resting_until = time.monotonic() + REST
            return None
        deposit = Deposit(
            account=self._account,
            provider_id=left.id,
            user_id=source.user_id,
            file_id=source.file_id,
            part=source.part,
            expires_at=in_seconds(self._seconds),
        )
        await self._deposits.add(deposit)
        try:
            await self._files.get(source.user_id, source.file_id)
        except NotFound:  # deleted meanwhile
            self._wake.set()
            return None
        return deposit

    async def _client(self) -> "AsyncAnthropic":
        await asyncio.to_thread(import_module, "anthropic")
        if self._made is None:
            self._made = connect(self._api_key, self._base_url, SILENCE)
        return self._made

    # removal

    def remove_soon(self) -> None:
        """A file was deleted."""
        self._wake.set()

    async def _remove_for_ever(self) -> None:
        failures = 0
        while True:
            self._wake.clear()
            try:
                await self._remove()
                failures = 0
            except TurnlogError as error:
                failures += 1
                _log.warning("deposits could not be looked up: %s", type(error).__name__)
            except Exception as error:
                failures += 1
                _log.warning("a deposit could not be removed: %s", type(error).__name__)
            wait = spread(back_off(failures, 5.0, EVERY)) if failures else EVERY
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    async def _remove(self) -> None:
        await self._deposits.forget_expired(now())
        look = self._deposits.orphans if self._seconds else self._deposits.every
        while found := await look(self._account, limit=AT_ONCE):
            for deposit in found:
                await self._remove_one(deposit)

    async def _remove_one(self, deposit: Deposit) -> None:
        client = await self._client()
        import anthropic

        with suppress(anthropic.NotFoundError):  # gone already
            await client.files.delete(deposit.provider_id)
        await self.forget([deposit])
        _log.info("a deposit is removed")


def _blocks(request: Request) -> list[dict[str, Any]]:
    contents = [message["content"] for message in request["messages"]]
    return [block for content in contents if isinstance(content, list) for block in content]


def _large(block: dict[str, Any]) -> FileSource | None:
    source = block.get("source")
    is_worth_it = isinstance(source, FileSource) and len(source.get("data", "")) >= LEAST
    return source if is_worth_it else None


def _with_names(message: dict[str, Any], used: dict[int, Deposit]) -> dict[str, Any]:
    content = message["content"]
    if not isinstance(content, list) or not any(id(b.get("source")) in used for b in content):
        return message
    return message | {"content": [_with_name(block, used) for block in content]}


def _with_name(block: dict[str, Any], used: dict[int, Deposit]) -> dict[str, Any]:
    deposit = used.get(id(block.get("source")))
    if deposit is None:
        return block
    return block | {"source": {"type": "file", "file_id": deposit.provider_id}}
