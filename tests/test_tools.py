"""Tools: schemas from type hints, identity from the server, one result whatever happens."""

import asyncio
import dataclasses
import logging
import threading
from datetime import date
from typing import Annotated, Any, Literal

import msgspec
import pytest

from turnlog import ToolContext, ToolError, tool
from turnlog.contrib.demo import calculate, current_time
from turnlog.events.kinds import ToolUse
from turnlog.tools.runner import ToolRunner


def context_for(tool_use_id):
    return ToolContext(user_id="alice", session_id="s", turn_id="t", tool_use_id=tool_use_id)


async def results(tools, *calls):
    runner = ToolRunner(tools, context_for)
    batches = [batch async for batch in runner.run(calls)]
    return batches[-1]


def call(id, tool_name, /, **args):
    return ToolUse(tool_use_id=id, tool_name=tool_name, args=args)


async def result(one, /, **args):
    (only,) = await results([one], ToolUse(tool_use_id="a", tool_name=one.name, args=args))
    return only


# the schema


def test_the_schema_comes_from_the_type_hints():
    @tool(writes=False)
    def book(name: str, seats: int = 2, when: date | None = None) -> str:
        """Book a table.

        For tonight or later.
        """

    assert book.spec.name == "book"
    assert book.spec.description == "Book a table.\n\nFor tonight or later."
    schema = book.spec.input_schema
    assert (schema["type"], schema["required"]) == ("object", ["name"])
    assert schema["properties"]["seats"] == {"type": "integer", "default": 2}
    assert "title" not in schema


def test_nested_types_have_their_own_definitions():
    @dataclasses.dataclass
    class Line:
        item: str
        price: Annotated[float, msgspec.Meta(ge=0)]

    @tool(name="create_invoice", approval="never")
    def create(lines: list[Line], kind: Literal["draft", "final"] = "draft") -> str:
        """Create an invoice."""

    schema = create.spec.input_schema
    assert schema["properties"]["lines"]["items"] == {"$ref": "#/$defs/Line"}
    assert schema["$defs"]["Line"]["properties"]["price"]["minimum"] == 0
    assert schema["properties"]["kind"]["enum"] == ["draft", "final"]


def test_a_tool_without_parameters_takes_an_empty_object():
    assert current_time.spec.input_schema["type"] == "object"
    assert current_time.spec.input_schema["properties"] == {}


@pytest.mark.parametrize("hint", [ToolContext, ToolContext | None, Annotated[ToolContext, "who"]])
async def test_the_model_neither_sees_nor_sets_for_whom_a_tool_acts(hint):
    def whoami(question: str, context: hint = None) -> str:
        return context.user_id

    whoami = tool(writes=False)(whoami)
    assert whoami.spec.input_schema["properties"].keys() == {"question"}
    assert "user_id" not in str(whoami.spec.input_schema)
    assert (await result(whoami, question="Who?")).result == "alice"
    forged = await result(whoami, question="Who?", context={"user_id": "bob"})
    assert (forged.success, forged.result) == (False, None)


async def test_each_call_knows_its_own_id():
    @tool(writes=False)
    async def which(context: ToolContext) -> str:
        return context.tool_use_id

    found = await results([which], call("a", "which"), call("b", "which"))
    assert [each.result for each in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda *args: None, "cannot be given by name"),
        (lambda **kwargs: None, "cannot be given by name"),
        (lambda name: None, "'name' needs a type hint"),
    ],
)
def test_a_function_without_a_schema_is_no_tool(make, why):
    with pytest.raises(TypeError, match=why):
        tool(make)


async def test_a_mutable_default_is_fresh_in_each_call():
    @tool(writes=False)
    def collect(item: str, into: list[str] = ["first"], seen: list[str] = []) -> list[str]:  # noqa: B006 - a list as a default is what is tested
        into.append(item)
        seen.append(item)
        return into + seen

    assert (await result(collect, item="a")).result == ["first", "a", "a"]
    assert (await result(collect, item="b")).result == ["first", "b", "b"]


# running


async def test_arguments_arrive_as_their_types():
    @tool(writes=False)
    def weekday(day: date, offset: float = 0) -> str:
        return f"{day:%A} {type(offset).__name__}"

    assert (await result(weekday, day="2026-11-15", offset=1)).result == "Sunday float"


@pytest.mark.parametrize("args", [{}, {"name": 5}, {"name": "x", "color": "red"}])
async def test_wrong_arguments_are_told_and_nothing_runs(args):
    ran = []

    @tool(writes=False)
    def greet(name: str) -> None:
        ran.append(name)

    wrong = await result(greet, **args)
    assert not wrong.success
    assert wrong.error.startswith("Wrong arguments for 'greet'")
    assert ran == []


async def test_an_unknown_tool_is_told_which_there_are():
    (unknown,) = await results([current_time, calculate], call("a", "fly"))
    assert unknown.error == "There is no tool 'fly'. The tools are: current_time, calculate."


async def test_a_result_is_what_json_makes_of_it():
    @tool(writes=False)
    async def answer() -> Any:
        return {"day": date(2026, 11, 15), "pair": (1, 2)}

    assert (await result(answer)).result == {"day": "2026-11-15", "pair": [1, 2]}


async def test_a_plain_function_runs_in_a_thread_and_holds_nobody_up():
    free = threading.Event()

    @tool(writes=False)
    def blocks() -> bool:
        return free.wait(30)

    @tool(writes=False)
    async def frees() -> None:
        free.set()

    both = await results([blocks, frees], call("a", "blocks"), call("b", "frees"))
    assert [each.result for each in both] == [True, None]


async def test_a_plain_function_may_return_something_to_await():
    async def later() -> str:
        return "later"

    @tool(writes=False)
    def now() -> Any:
        return later()

    assert (await result(now)).result == "later"


async def test_calls_overlap_and_results_come_in_the_order_of_the_calls():
    meeting, second_is_done = asyncio.Barrier(3), asyncio.Event()

    @tool(writes=False)
    async def meet(name: str) -> str:
        await meeting.wait()
        if name == "b":
            second_is_done.set()
        await second_is_done.wait()
        return name

    calls = [call(name, "meet", name=name) for name in "abc"]
    found = await results([meet], *calls)
    assert [each.tool_use_id for each in found] == ["a", "b", "c"]
    assert [each.result for each in found] == ["a", "b", "c"]


async def test_one_call_that_fails_does_not_stop_the_others():
    @tool(writes=False)
    async def divide(by: int) -> float:
        return 1 / by

    bad, good = await results([divide], call("a", "divide", by=0), call("b", "divide", by=2))
    assert (bad.success, good.result) == (False, 0.5)


async def test_a_tool_error_is_shown_as_it_is():
    @tool(writes=False)
    async def fails() -> None:
        raise ToolError("There is no customer 'Adatum'.")

    failed = await result(fails)
    assert (failed.success, failed.error) == (False, "There is no customer 'Adatum'.")


async def test_any_other_exception_hides_its_text(caplog):
    @tool(writes=False)
    async def fails() -> None:
        raise ValueError("/etc/secret: password=hunter2")

    with caplog.at_level(logging.WARNING):
        failed = await result(fails)
    assert failed.error == "The tool failed (ValueError). The server's log says where."
    assert "hunter2" in caplog.text


async def test_what_json_cannot_hold_is_a_failure():
    @tool(writes=False)
    async def makes() -> Any:
        return object()

    assert (await result(makes)).error == "The tool returned object, which cannot become JSON."


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_parameter_may_have_any_name(is_async):
    def plot(function: str, args: str) -> str:
        return f"{function} {args}"

    async def plot_soon(function: str, args: str) -> str:
        return f"{function} {args}"

    drawn = tool(writes=False)(plot_soon if is_async else plot)
    assert (await result(drawn, function="sin", args="x")).result == "sin x"


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    "error", [StopIteration, TimeoutError, asyncio.CancelledError, SystemExit, RecursionError]
)
async def test_no_exception_of_a_tool_reaches_the_turn(error, is_async):
    async def fails_later() -> None:
        raise error("secret")

    def fails() -> None:
        raise error("secret")

    failed = await result(tool(writes=False)(fails_later if is_async else fails))
    assert not failed.success
    assert failed.error.startswith("The tool failed (")


async def test_a_tool_that_takes_too_long_is_told_so():
    @tool(writes=False, timeout=0.01)
    async def waits() -> None:
        await asyncio.Event().wait()

    assert (await result(waits)).error == "No answer after 0.01 s: time limit."


async def test_a_thread_that_takes_too_long_is_not_waited_for():
    free = threading.Event()

    @tool(writes=False, timeout=0.01)
    def waits() -> None:
        free.wait(30)

    assert (await result(waits)).error == "No answer after 0.01 s: time limit."
    free.set()


async def test_a_turn_that_is_cancelled_cancels_its_tools():
    running, ended = asyncio.Event(), []

    @tool(writes=False)
    async def waits() -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    task = asyncio.create_task(result(waits))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cancelled"]


# the tools that ship


SUMS = [("1 + 2 * 3", 7), ("(1 + 2) * -3", -9), ("7 / 2", 3.5), ("0.1 + 0.2", 0.3)]
SUMS += [("123456789012345678 + 1", 123456789012345679)]


@pytest.mark.parametrize(("expression", "value"), SUMS)
async def test_calculate_computes(expression, value):
    assert (await result(calculate, expression=expression)).result == {"result": value}


NONSENSE = ["1 / 0", "__import__('os')", "2 ** 9", "1 +", "(" * 400, "'a' * 9", "1e308 * 10", ""]


@pytest.mark.parametrize("expression", NONSENSE)
async def test_calculate_refuses_everything_else(expression):
    refused = await result(calculate, expression=expression)
    assert not refused.success
    assert "The tool failed" not in refused.error
