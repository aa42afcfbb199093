"""A server that takes the request and says nothing: it may be at work, and will want its money."""

import asyncio
import contextlib
import socket
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from raw_server import meeting

from turnlog.engines.claude.http.route import WATCHED, Route
from turnlog.engines.claude.model import ClaudeModel, Patience
from turnlog.engines.claude.platforms import PLATFORMS
from turnlog.errors import EngineFailed
from turnlog.ports import Prompt

HI = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
PROMPT = Prompt(model="claude-sonnet-5-5", system="", messages=[HI], max_tokens=1000)
SOON = Patience(tries=4, first_wait=0.001, beginning=0.1, silence=0.1, counting=0.1)
FOUNDRY = replace(PLATFORMS["foundry"], options=(("api_key", "fk"),))


@asynccontextmanager
async def silent():
    """The address of a server that reads and never answers, and its callers."""
    callers = []

    async def meet(reader, writer):
        callers.append(reader)
        with contextlib.suppress(ConnectionError):
            while await reader.read(2**16):
                pass

    async with asyncio.timeout(60), meeting(meet) as port:
        yield f"http://127.0.0.1:{port}", callers


@pytest.mark.parametrize("platform", [None, pytest.param(FOUNDRY, marks=pytest.mark.slow)])
async def test_it_is_told_after_a_while_and_not_asked_again(platform):
    async with silent() as (url, callers):
        model = ClaudeModel(api_key="k", base_url=url, patience=SOON, platform=platform)
        with pytest.raises(EngineFailed) as failed:
            async for _ in model.call(PROMPT):
                raise AssertionError("it said something")
        await model.close()
    assert (failed.value.code, failed.value.retryable) == ("timeout", True)
    assert len(callers) == 1


async def test_a_count_of_tokens_does_not_wait_as_long_as_an_answer():
    async with silent() as (url, _):
        patience = replace(SOON, beginning=10_000.0)
        model = ClaudeModel(api_key="k", base_url=url, patience=patience)
        with pytest.raises(EngineFailed) as failed:
            await model.count(PROMPT)
        await model.close()
    assert (failed.value.code, failed.value.retryable) == ("timeout", True)


async def test_a_peer_that_went_without_a_word_is_noticed_by_the_system():
    async with silent() as (url, _):
        connection = await Route(url).connect()
        sock = connection.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        options = {name: getattr(socket, name, None) for name in WATCHED}
        known = {name: option for name, option in options.items() if option is not None}
        assert known
        read = {name: sock.getsockopt(socket.IPPROTO_TCP, known[name]) for name in known}
        assert read == {name: WATCHED[name] for name in known}
        connection.transport.abort()
