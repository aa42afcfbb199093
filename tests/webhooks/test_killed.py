"""A receiver that is killed and restarted, and a server killed -9 between: every notice arrives."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from standardwebhooks.webhooks import Webhook

from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.testing.server import serving
from turnlog.testing.servers.process import free_port
from turnlog.webhooks.signature import new_secret

pytestmark = pytest.mark.slow
SECRET = new_secret()
WITHIN = 90.0  # seconds: a claim of a killed process ends after 20
APP = """
from turnlog import Agent, create_app, tool

@tool
async def refund_payment(amount: int) -> str:
    "Refund a payment."
    return "refunded"

app = create_app([Agent("shop", tools=[refund_payment])])
"""


@asynccontextmanager
async def receiving(port, file):
    """The receiver, until it is killed at the end of the block."""
    script = Path(__file__).with_name("receiver.py")
    process = await asyncio.create_subprocess_exec(sys.executable, script, str(port), str(file))
    try:
        yield
    finally:
        process.kill()  # by its pid: it is ours
        await process.wait()


def got(file):
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]


async def until(look):
    async with asyncio.timeout(WITHIN):
        while not (found := await look()):
            await asyncio.sleep(0.05)
    return found


async def asked(http, server):
    async with http.get(f"{server.url}/api/approvals?status=pending") as response:
        return (await response.json())["approvals"]


async def notices(http, server, status):
    async with http.get(f"{server.url}/api/webhooks/notices?status={status}") as response:
        return (await response.json())["notices"]


async def test_every_notice_arrives_in_spite_of_all_deaths(tmp_path):
    port, file = free_port(), tmp_path / "got.jsonl"
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "turnlog.toml").write_text(
        f'[webhooks.crm]\nurl = "http://127.0.0.1:{port}/hook"\nsecret = "{SECRET}"\n'
        "allow_private = true\n"
    )
    call = Reply(ToolCall("refund_payment", {"amount": 5}, "toolu_1"))
    sim = SimulatedClaude(call, Reply("Done."), pace=0)
    async with sim.serve() as claude, aiohttp.ClientSession() as http:
        async with serving(tmp_path, claude, "shop:app") as server:  # nobody receives
            async with http.post(f"{server.url}/api/sessions") as response:
                session = (await response.json())["id"]
            messages = f"{server.url}/api/sessions/{session}/messages"
            async with http.post(messages, json={"message": "Refund"}) as response:
                assert response.status == 202
            (question,) = await until(lambda: asked(http, server))
            await until(lambda: notices(http, server, "waiting"))
            await server.kill()
        assert got(file) == []
        async with serving(tmp_path, claude, "shop:app") as server:
            async with receiving(port, file):
                await until(lambda: notices(http, server, "delivered"))
            # The receiver is dead again, and the person decides.
            answer = f"{server.url}/api/approvals/{question['id']}"
            async with http.post(answer, json={"approved": True}) as response:
                assert response.status == 200

            async def both_wait():
                return len(await notices(http, server, "waiting")) == 2

            await until(both_wait)
            async with receiving(port, file):

                async def all_there():
                    return len(await notices(http, server, "delivered")) == 3

                await until(all_there)
    told = [Webhook(SECRET).verify(each["body"], _lower(each["headers"])) for each in got(file)]
    assert {each["type"] for each in told} == {
        "approval.requested",
        "approval.decided",
        "turn.ended",
    }
    assert len({_lower(each["headers"])["webhook-id"] for each in got(file)}) == 3


def _lower(headers):
    return {name.lower(): value for name, value in headers.items()}
