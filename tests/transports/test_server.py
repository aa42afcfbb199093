"""What the server process does beside serving."""

import asyncio
import gc
import signal
from unittest.mock import AsyncMock

import uvicorn

from turnlog.transports.http.request import json_response
from turnlog.transports.http.serving import server


def test_settling_looks_at_the_youngest_objects_only_and_keeps_all():
    looked_at = []

    def note(phase, info):
        looked_at.append((phase, info["generation"]))

    gc.disable()  # so that no other collection is noted
    gc.collect()  # what earlier tests have left
    gc.unfreeze()  # what the suite has collected; in the end it is frozen again
    gc.callbacks.append(note)
    try:
        server.settle()
        assert looked_at == [("start", 0), ("stop", 0)]
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.callbacks.remove(note)
        gc.enable()


def test_a_page_is_bytes_which_are_compared_with_themselves_at_no_cost():
    page = json_response({"events": [], "before": None, "cursor": "3.0"})
    assert type(page.body) is bytes
    assert page.body == b'{"events":[],"before":null,"cursor":"3.0"}'


async def test_each_second_the_server_looks_for_connections_that_are_overdue(monkeypatch):
    looks = []
    monkeypatch.setattr(server, "close_overdue", looks.append)
    config = uvicorn.Config("any:app")
    config.encoded_headers = []
    process = server._Server(config, None, None, None)
    for _ in range(3):
        assert not await process.on_tick()
    assert looks == [process.server_state.connections] * 3
    assert process.server_state.default_headers[0][0] == b"date"


async def test_a_signal_is_not_kept_waiting_for_the_next_look(monkeypatch):
    monkeypatch.setattr(server, "TICK", 600)
    config = uvicorn.Config("any:app")
    config.encoded_headers = []
    process = server._Server(config, None, None, None)
    process._loop = asyncio.get_running_loop()
    serving = asyncio.create_task(process.main_loop())
    await asyncio.sleep(0)
    await asyncio.to_thread(process.handle_exit, signal.SIGTERM, None)
    async with asyncio.timeout(60):
        await serving


async def test_who_is_impatient_is_not_kept_waiting_either(monkeypatch):
    monkeypatch.setattr(server, "TICK", 600)
    monkeypatch.setattr(uvicorn.Server, "shutdown", AsyncMock())
    config = uvicorn.Config("any:app")
    config.encoded_headers = []
    process = server._Server(config, None, None, asyncio.Event().wait)  # no turn ever ends
    process.servers, process._loop = [], asyncio.get_running_loop()
    process.handle_exit(signal.SIGINT, None)
    stopping = asyncio.create_task(process.shutdown())
    await asyncio.sleep(0)
    process.handle_exit(signal.SIGINT, None)
    async with asyncio.timeout(60):
        await stopping
    assert process.force_exit and uvicorn.Server.shutdown.called


async def test_it_looks_for_them_also_while_turns_end(monkeypatch):
    looks = asyncio.Semaphore(0)
    monkeypatch.setattr(server, "close_overdue", lambda connections: looks.release())
    monkeypatch.setattr(server, "TICK", 0)
    monkeypatch.setattr(uvicorn.Server, "shutdown", AsyncMock())
    config = uvicorn.Config("any:app")
    config.encoded_headers = []

    async def turns_end():
        for _ in range(3):
            await looks.acquire()

    process = server._Server(config, None, None, turns_end)
    process.servers = []
    async with asyncio.timeout(60):
        await process.shutdown()
