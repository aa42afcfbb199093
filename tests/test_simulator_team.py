"""The simulated Claude in a team: each agent reads what the user said, and not what others said."""

import re
from pathlib import Path

import pytest

from turnlog import Settings

PAGE = Path(__file__).parent.parent / "docs" / "teams.md"


@pytest.fixture
async def team(monkeypatch, tmp_path, hurried):
    """The app of docs/teams.md, as it stands there."""
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    made = {}
    exec(code.replace("create_app(", 'create_app(store="memory:", settings=Settings(),'),
         made | {"Settings": Settings}, made)  # fmt: skip
    async with made["app"] as _:
        yield made["app"]


async def talk(app, *messages):
    """The calls of each message that a user sees, each with its agent; and the last words."""
    session = await app.create_session("local")
    for message in messages:
        result = await app.run_turn(message, session_id=session.id)
        calls = [
            (entry.envelope.agent.id, entry.event.tool_name)
            for entry in result.events
            if entry.event.type == "tool_use"
        ]
        yield calls, result.text


async def test_a_question_is_handed_over_and_answered_by_the_agent_that_can(team):
    seen = [each async for each in talk(team, "show me my tasks", "show me my tasks")]
    assert [calls for calls, _ in seen] == [[("tasks", "list_tasks")]] * 2
    assert all("Call Adatum" in text for _, text in seen)


async def test_use_lines_reach_the_agent_that_takes_over(team):
    lines = 'use transfer_to_erp {"reason": "look"}\nuse get_customer {"name": "Adatum"}'
    async for calls, text in talk(team, lines, lines):
        assert calls == [("erp", "get_customer")]
        assert "120" in text


async def test_use_lines_of_earlier_turns_are_not_read_again(team):
    earlier = 'use get_customer {"name": "Old"}'  # the supervisor has no such tool
    async for calls, _ in talk(team, earlier, "show me my tasks"):
        assert ("erp", "get_customer") not in calls
