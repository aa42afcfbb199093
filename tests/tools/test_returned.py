"""What tools return becomes JSON, or is refused; and a decorated function can be called."""

import asyncio
import inspect
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from turnlog import Agent, ToolContext, tool
from turnlog.events.kinds import ToolUse
from turnlog.events.nesting import DEEPEST, is_too_deep
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import scripted_app
from turnlog.tools.runner import ToolRunner

CONTEXT = ToolContext(user_id="alice", session_id="s", turn_id="t", tool_use_id="toolu_1")


class Line(BaseModel):
    item: str
    count: int = 1


class Order(BaseModel):
    number: str = Field(alias="orderNumber")
    lines: list[Line]
    due: date | None = None


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


class Plain:
    """Nobody knows what this would be in JSON."""


async def result_of(made, **args):
    runner = ToolRunner([made], lambda call: CONTEXT)
    call = ToolUse(tool_use_id="toolu_1", tool_name=made.name, args=args)
    batches = [batch async for batch in runner.run([call])]
    return batches[-1][0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Line(item="a"), {"item": "a", "count": 1}),
        ([Line(item="a")], [{"item": "a", "count": 1}]),
        (Order(orderNumber="1", lines=[], due=date(2026, 1, 1)),
         {"orderNumber": "1", "lines": [], "due": "2026-01-01"}),
        (Point(1), {"x": 1, "y": 0}),
        (Colour.RED, "red"),
        (Path("a"), "a"),
    ],
)  # fmt: skip
async def test_results_become_json(value, shown):
    @tool(writes=False)
    def look() -> Any:
        return value

    assert (await result_of(look)).result == shown


@pytest.mark.parametrize("hint", [Plain, list[Plain], dict[str, Plain], asyncio.Queue])
def test_a_result_that_cannot_become_json_is_refused_when_the_tool_is_made(hint):
    def look():
        return None

    look.__annotations__ = {"return": hint}
    with pytest.raises(TypeError, match="cannot become JSON"):
        tool(look)


@pytest.mark.parametrize("hint", [Line, list[Line], Order | None, Point, Any, None, object, Path])
def test_a_result_that_can_is_taken(hint):
    def look():
        return None

    look.__annotations__ = {"return": hint}
    assert tool(look).returns == (type(None) if hint is None else hint)


async def test_a_write_whose_result_cannot_be_shown_is_done_and_not_in_doubt():
    @tool(writes=True, approval="never")
    def create():
        return Plain()

    result = await result_of(create)
    assert (result.success, result.in_doubt) == (True, False)
    assert result.result == "Done. The result cannot be shown: Plain cannot become JSON."


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [DEEPEST, 970])  # where 970 could be written, and not be read
async def test_a_result_that_is_nested_too_deep_to_be_read_again_costs_no_session(levels):
    @tool(writes=False)
    def give() -> Any:
        return nested(levels)

    async with scripted_app(
        Reply(ToolCall("give")), Reply("A."), Reply("B."), agents=[Agent("a", tools=[give])]
    ) as (app, _):
        first = await app.run_turn("Give")
        (result,) = [event for event in first.events if event.type == "tool_result"]
        assert result.error == "The tool returned list, which cannot become JSON."
        assert (await app.run_turn("Next", session_id=first.session_id)).text == "B."


def test_how_deep_a_value_is_does_not_depend_on_who_asks():
    assert not is_too_deep(nested(DEEPEST - 2)) and is_too_deep({"a": nested(DEEPEST)})
    assert not is_too_deep(5) and not is_too_deep({"a": ["b", {}]})
    assert is_too_deep(nested(100_000))


async def test_a_read_whose_result_cannot_be_shown_failed():
    @tool(writes=False)
    def look():
        return Plain()

    result = await result_of(look)
    assert (result.success, result.error) == (
        False, "The tool returned Plain, which cannot become JSON."
    )  # fmt: skip


# in a unit test


async def test_a_decorated_function_can_be_called():
    @tool
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    @tool(writes=False)
    async def wait(context: ToolContext) -> str:
        return context.user_id

    assert (add(1), add(a=1, b=5)) == (3, 6)
    assert await wait(CONTEXT) == "alice"
    assert list(inspect.signature(add).parameters) == ["a", "b"]
