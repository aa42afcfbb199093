"""Calls that run together: what one of them raises cuts off none of the others."""

import asyncio
import contextlib
import dataclasses

import msgspec
import pydantic
import pytest

from turnlog import ToolContext, tool
from turnlog.events.content import hash_of, idempotency_key
from turnlog.events.kinds import ToolResult, ToolUse
from turnlog.ports import Standing
from turnlog.tools.agents.outputs import read
from turnlog.tools.runner import ToolRunner


def context_for(tool_use_id):
    return ToolContext(user_id="alice", session_id="s", turn_id="t", tool_use_id=tool_use_id)


async def results(runner, *calls):
    outputs = [output async for batch in runner.run(calls) for output in batch]
    return [output for output in outputs if isinstance(output, ToolResult)]


def fail():
    raise KeyError("a secret")


@dataclasses.dataclass
class Range:
    low: int

    def __post_init__(self):
        fail()


class Struct(msgspec.Struct):
    low: int

    def __post_init__(self):
        fail()


class Model(pydantic.BaseModel):
    low: int

    @pydantic.field_validator("low")
    @classmethod
    def check(cls, low):
        fail()


CHECKED = pytest.mark.parametrize("kind", [Range, Struct, Model])


def read_of(kind):
    def list_range(of):
        """List."""

    list_range.__annotations__ = {"of": kind, "return": None}
    return tool(writes=False)(list_range)


class Unreadable(Exception):
    def __str__(self):
        return fail()


@tool(writes=False)
async def look() -> None:
    """Fails with an error that fails itself when it is read."""
    raise Unreadable


def writing(done):
    """A write that is under way until the call beside it has failed."""

    @tool(writes=True, approval="never")
    async def post_order() -> str:
        """Post."""
        for _ in range(10):  # steps of the loop: the other call needs one
            await asyncio.sleep(0)
        done.append("posted")
        return "posted"

    return post_order


async def beside_a_write(other, args, **rules):
    done = []
    runner = ToolRunner([writing(done), other], context_for, **rules)
    post = ToolUse(tool_use_id="w", tool_name="post_order", args={})
    look = ToolUse(tool_use_id="r", tool_name=other.name, args=args)
    wrote, failed = await results(runner, post, look)
    assert (wrote.result, wrote.success, wrote.in_doubt) == ("posted", True, False)
    assert done == ["posted"]
    assert (failed.success, failed.in_doubt) == (False, False)
    assert "secret" not in failed.error
    return failed.error


@CHECKED
async def test_a_check_that_fails_is_told_to_the_model_and_the_write_beside_it_ends_well(kind):
    told = await beside_a_write(read_of(kind), {"of": {"low": 1}})
    assert told == "Wrong arguments for 'list_range': The check failed (KeyError)."


async def test_an_error_whose_text_fails_is_told_and_the_write_beside_it_ends_well():
    told = await beside_a_write(look, {}, development=True)
    assert told.startswith("The tool failed (Unreadable: its text cannot be read, test_beside.py")


@pytest.mark.parametrize("writes", [True, False])
async def test_the_arguments_of_a_call_are_checked_once(writes):
    checks = []

    @dataclasses.dataclass
    class Order:
        amount: int

        def __post_init__(self):
            checks.append(self.amount)

    async def post(order, context):
        return f"{order.amount} {context.idempotency_key}"

    post.__annotations__ = {"order": Order, "context": ToolContext, "return": str}
    runner = ToolRunner([tool(writes=writes, approval="never")(post)], context_for)
    call = ToolUse(tool_use_id="a", tool_name="post", args={"order": {"amount": 7}})
    outputs = [output async for batch in runner.run([call]) for output in batch]
    key = idempotency_key("s", "a", hash_of(call.args))
    assert (outputs[-1].result, checks) == (f"7 {key}", [7])
    assert [started.idempotency_key for started in outputs[:-1]] == [key] * writes


@pytest.mark.parametrize("error", [asyncio.CancelledError, SystemExit, KeyError])
async def test_who_cannot_tell_what_became_of_a_write_leaves_it_in_doubt(error):
    async def reconcile(args, context):
        raise error("a secret")

    @tool(writes=True, reconcile=reconcile)
    async def send() -> None:
        """Send."""

    runner = ToolRunner([send], context_for, standing=Standing(started={"a"}))
    (only,) = await results(runner, ToolUse(tool_use_id="a", tool_name="send", args={}))
    assert (only.in_doubt, only.success) == (True, False)


@CHECKED
def test_an_answer_whose_check_fails_does_not_fit(kind):
    with pytest.raises(ValueError, match=r"does not fit .* The check failed \(KeyError\)"):
        read(kind, '{"low": 1}')


@pytest.mark.parametrize("names", [("look_at", "pay"), ("pay", "pay"), ("pay", "look_at")])
async def test_calls_of_one_id_each_run_with_their_own_arguments(names):
    ran = []

    @tool(writes=False)
    async def look_at(number: int) -> None:
        """Look."""
        ran.append(("look_at", number))

    @tool(writes=True, approval="never")
    async def pay(number: int) -> None:
        """Pay."""
        ran.append(("pay", number))

    calls = [
        ToolUse(tool_use_id="same", tool_name=name, args={"number": number})
        for number, name in enumerate(names)
    ]
    done = await results(ToolRunner([look_at, pay], context_for), *calls)
    assert [result.success for result in done] == [True, True]
    assert sorted(ran) == sorted((name, number) for number, name in enumerate(names))


async def test_a_result_waits_for_no_slower_one():
    seen = asyncio.Event()

    @tool(writes=False)
    async def list_all() -> str:
        """Take as long as it takes somebody to see the other result."""
        await seen.wait()
        return "all"

    @tool(writes=True, approval="never")
    async def post_order() -> str:
        """Post."""
        return "posted"

    runner = ToolRunner([list_all, post_order], context_for)
    slow = ToolUse(tool_use_id="a", tool_name="list_all", args={})
    quick = ToolUse(tool_use_id="b", tool_name="post_order", args={})
    batches = []
    async with asyncio.timeout(10):
        async for batch in runner.run([slow, quick]):
            batches.append([each.tool_use_id for each in batch if isinstance(each, ToolResult)])
            if "b" in batches[-1]:
                seen.set()
    assert batches == [[], ["b"], ["a"]]


async def test_who_stops_reading_stops_those_that_still_run():
    ended = []

    @tool(writes=False)
    async def list_all() -> None:
        """Never ends by itself."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("list_all")

    @tool(writes=False)
    async def list_one() -> int:
        """One."""
        return 1

    runner = ToolRunner([list_all, list_one], context_for)
    calls = [
        ToolUse(tool_use_id=name, tool_name=name, args={}) for name in ("list_all", "list_one")
    ]
    async with asyncio.timeout(10), contextlib.aclosing(runner.run(calls)) as batches:
        assert [each.tool_use_id for each in await anext(batches)] == ["list_one"]
        assert ended == []
    assert ended == ["list_all"]
