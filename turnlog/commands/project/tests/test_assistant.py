"""The assistant, against a scripted Claude: no key, no network."""

import asyncio

from assistant import AGENTS, TICKETS, find_tickets

from turnlog import Decision
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import scripted_app


def test_a_tool_is_a_function():
    assert len(asyncio.run(find_tickets("printer"))) == 1


def test_it_looks_before_it_speaks():
    async def turn():
        script = (Reply(ToolCall("find_tickets", {"text": "printer"})), Reply("Ticket 7 is open."))
        async with scripted_app(*script, agents=AGENTS) as (app, _):
            return await app.run_turn("Is there something about a printer?")

    result = asyncio.run(turn())
    assert result.text == "Ticket 7 is open."


def test_a_person_is_asked_before_a_ticket_is_closed():
    async def turn():
        script = (Reply(ToolCall("close_ticket", {"ticket": 7})),)
        async with scripted_app(*script, agents=AGENTS) as (app, _):
            return await app.run_turn("Close ticket 7")

    assert len(asyncio.run(turn()).waiting) == 1


def test_a_ticket_is_closed_when_the_person_allows_it():
    async def turn():
        script = (Reply(ToolCall("close_ticket", {"ticket": 7})), Reply("It is closed."))
        async with scripted_app(*script, agents=AGENTS) as (app, _):
            run = app.run_turn("Close ticket 7", user_id="alice")
            async for event in run:
                if event.type == "approval_requested":
                    await app.answer_approval("alice", event.approval_id, Decision(approved=True))
            return run.result

    assert asyncio.run(turn()).text == "It is closed."
    assert TICKETS[7]["state"] == "closed"
