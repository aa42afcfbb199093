"""The ERP agent in turns: approvals, and servers that are killed during a write."""

import asyncio

import aiohttp
import pytest

from turnlog.contrib.business_central import BusinessCentral, erp_agent
from turnlog.contrib.business_central.client.conditions import equals
from turnlog.contrib.business_central.sandbox import Failure, Sandbox
from turnlog.contrib.business_central.sandbox.demo.companies import BUSY
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.events.kinds import ApprovalRequested
from turnlog.ports import Decision
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.testing.apps import scripted_app
from turnlog.testing.business_central import INVOICE
from turnlog.testing.server import serving
from turnlog.transports.access.auth import LOCAL_USER

pytestmark = pytest.mark.slow


def calling(name, args):
    """A model that calls a tool."""
    return SimulatedClaude(Reply(ToolCall(name, args, id="toolu_1")), Reply("Done."), pace=0)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_change_needs_the_approval_of_a_person(approved):
    bc, deciding = BusinessCentral(), []
    call = ToolCall("create_customer", {"name": "Test Corp"})

    def decide(entry):
        if isinstance(entry.event, ApprovalRequested):
            assert entry.event.description == "Create customer Test Corp"
            decision = Decision(approved=approved)
            answer = app.answer_approval(LOCAL_USER, entry.event.approval_id, decision)
            deciding.append(asyncio.create_task(answer))

    script = (Reply(call), Reply("Done."))
    async with scripted_app(*script, agents=[erp_agent(bc)], connections=[bc]) as (app, _):
        await app.run_turn("Create Test Corp", on_event=decide)
        await asyncio.gather(*deciding)
        await asyncio.gather(*app._turns._live.tasks)
        assert len(await named(bc, "Test Corp")) == approved


async def named(bc, name):
    return (await bc.find("customers", equals("displayName", name), select=("id",), limit=5)).rows


WRITES = [  # what happens to the write, whether it succeeded, how many invoices there are then
    (Failure(silent=True, done=True, method="POST", path="$batch"), True, 1),
    (Failure(silent=True, done=True, method="POST", path="salesInvoices"), False, 0),
    (Failure(silent=True, method="POST", path="salesInvoices"), False, 0),
]
NAMES = ["whole", "header", "none"]


@pytest.mark.parametrize(("failure", "success", "invoices"), WRITES, ids=NAMES)
async def test_a_server_that_was_killed_during_a_write_finds_out_if_it_happened(
    failure, success, invoices, tmp_path
):
    sandbox, sim = Sandbox(), calling("create_sales_invoice", INVOICE)
    async with sandbox.serve() as erp, sim.serve() as claude:
        env = environment(sandbox, erp)
        sandbox.fail(failure)
        async with serving(tmp_path, claude, env=env) as server:
            session = await ask(server.url, sandbox)
            await server.kill()
        async with serving(tmp_path, claude, env=env) as server:
            result = await event_of(server.url, session, "tool_result")
    assert result["success"] == success, result
    assert not result.get("inDoubt")
    assert len(invoices_of_the_agent(sandbox)) == invoices
    if not success:
        assert "took no effect" in result["error"]


async def test_a_server_that_was_killed_before_and_during_a_write_writes_once(tmp_path):
    sandbox, sim = Sandbox(), calling("create_sales_invoice", INVOICE)
    async with sandbox.serve() as erp, sim.serve() as claude, asyncio.timeout(120):
        env = environment(sandbox, erp, approval="writes")
        async with serving(tmp_path, claude, env=env) as server:
            session = await ask(server.url, sandbox, until="approval_requested")
            await server.kill()
        assert invoices_of_the_agent(sandbox) == []
        sandbox.fail(Failure(silent=True, done=True, method="POST", path="$batch"))
        async with serving(tmp_path, claude, env=env) as server:
            await allow(server.url, session)
            await sandbox.failed.wait()
            await server.kill()
        async with serving(tmp_path, claude, env=env) as server:
            result = await event_of(server.url, session, "tool_result")
    assert result["success"], result
    assert [row["number"] for row in invoices_of_the_agent(sandbox)] == [result["result"]["number"]]


def environment(sandbox, url, approval="never"):
    return {
        "TURNLOG_APPROVAL": approval,
        "TURNLOG_BC_TENANT": sandbox.tenant,
        "TURNLOG_BC_CLIENT_ID": sandbox.client_id,
        "TURNLOG_BC_CLIENT_SECRET": sandbox.client_secret,
        "TURNLOG_BC_COMPANY": BUSY,
        "TURNLOG_BC_BASE_URL": url,
        "TURNLOG_BC_AUTH_URL": url,
    }


def invoices_of_the_agent(sandbox):
    rows = sandbox.service.companies[0].rows(ENTITIES["salesInvoice"])
    return [row for row in rows if row["externalDocumentNumber"].startswith("TL-")]


async def ask(url, sandbox, until=None):
    """Ask for an invoice, and wait for this event, or for the failure of the write."""
    async with aiohttp.ClientSession(url) as http, asyncio.timeout(60):
        async with http.post("/api/sessions", json={"agent": "erp"}) as response:
            session = (await response.json())["id"]
        turn = asyncio.create_task(read_turn(http, session))
        await (event_of(url, session, until) if until else sandbox.failed.wait())
        turn.cancel()
        return session


async def read_turn(http, session):
    body = {"message": "An invoice"}
    async with http.post(f"/api/sessions/{session}/messages", json=body) as response:
        await response.read()


async def allow(url, session):
    question = await event_of(url, session, "approval_requested")
    path = f"/api/approvals/{question['approvalId']}"
    async with (
        aiohttp.ClientSession(url) as http,
        http.post(path, json={"approved": True}) as response,
    ):
        assert response.status == 200, await response.text()


async def event_of(url, session, kind):
    """The first event of this kind, once there is one."""
    async with aiohttp.ClientSession(url) as http, asyncio.timeout(60):
        while True:
            async with http.get(f"/api/sessions/{session}/messages") as response:
                events = (await response.json())["events"]
            for event in events:
                if event["type"] == kind:
                    return event
            await asyncio.sleep(0.05)
