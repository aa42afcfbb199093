"""Numbers reach a tool as they were written, or do not reach it."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel
from raw_events import TOOL, block, json_piece, read, start, stop

from turnlog.errors import BadInput
from turnlog.events import kinds as k
from turnlog.events import numbers
from turnlog.ports import Agent, UnreadableCall
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import is_problem, kept_events, scripted_app, served
from turnlog.tools.signatures import hints
from turnlog.tools.tool import tool
from turnlog.transports.socketio import requests

ID, LOT = 9007199254740993, 123456789012345678901234567890
ROUNDED = "0.1000000000000000055"


@pytest.mark.parametrize(
    "text",
    [
        "0.1",
        "1.50",
        "-8452.31",
        "0.30000000000000004",
        "1e2",
        "100.00000000000000000000",
        "5E-324",
        "0.10000000000000001",
    ],
)
def test_a_number_that_a_float_holds_is_that_float(text):
    assert numbers.exact(text) == float(text)


@pytest.mark.parametrize(
    "text",
    ["0.1000000000000000055", "12345678901234.123456789", "9007199254740993.0", "1e400", "1e-400",
     "-1e999999999999999999999", "0." + "3" * 1000],
)  # fmt: skip
def test_a_number_that_would_become_another_one_is_refused(text):
    with pytest.raises(ValueError, match="would be rounded to"):
        numbers.exact(text)
    with pytest.raises(msgspec.ValidationError):
        numbers.decoder().decode(f'{{"args": [{text}]}}')


class Line(BaseModel):
    amount: float


@pytest.mark.parametrize("hint", [float, float | None, list[float], dict[str, float], Line])
def test_an_integer_that_a_float_would_round_is_refused(hint):
    checked = hints.checkable(hint, "here")
    given = {list[float]: [LOT], dict[str, float]: {"a": LOT}, Line: {"amount": LOT}}
    with pytest.raises(msgspec.ValidationError, match=f"{LOT} would be rounded"):
        hints.read(given.get(hint, LOT), checked)


@pytest.mark.parametrize(
    ("value", "hint"),
    [(LOT, int), (LOT, int | float), (-ID, Decimal), (2**60, float), ({"a": [LOT, 0.5]}, Any)],
)
def test_an_integer_of_any_size_is_read_as_it_is(value, hint):
    assert hints.read(value, hints.checkable(hint, "here")) == value


def test_many_long_integers_are_looked_through_once(monkeypatch):
    looks, floats_in = [], numbers.floats_in
    monkeypatch.setattr(numbers, "floats_in", lambda value: looks.append(1) or floats_in(value))
    value = [LOT + n for n in range(100)]
    assert hints.read(value, list[int]) == value
    assert len(looks) == 1


async def test_a_tool_is_called_with_what_the_model_wrote_or_not_at_all():
    got = []

    @tool(writes=False)
    async def look(id: int, rate: float = 0.1) -> int:
        """Look."""
        got.append((id, rate))
        return id

    asked = [
        ToolCall("look", {}, "toolu_1", raw_json=f'{{"id": {ID}, "rate": {ROUNDED}}}'),
        ToolCall("look", {"id": ID, "rate": LOT}, "toolu_2"),
        ToolCall("look", {"id": LOT, "rate": 0.25}, "toolu_3"),
    ]
    agents = [Agent("assistant", prompt="P", tools=[look])]
    async with scripted_app(Reply(*asked), Reply("Done."), agents=agents) as (app, _):
        run = await app.run_turn("Look", user_id="ann")
        events = await kept_events(app.store, run.session_id)
    results = {e.tool_use_id: e for e in events if isinstance(e, k.ToolResult)}
    assert got == [(LOT, 0.25)]
    assert results["toolu_3"].result == LOT
    first, second = results["toolu_1"].error, results["toolu_2"].error
    assert f"The number {ROUNDED} would be rounded to 0.1" in first
    assert first.endswith("Nothing was run.")
    assert f"The number {LOT} would be rounded to" in second


EDIT = b'{"approved": true, "args": {"amount": %b}}'


@pytest.mark.parametrize("number", [ROUNDED, "1e400"])
async def test_an_edit_with_a_number_that_would_be_rounded_is_refused_over_http(number):
    async with served() as server:
        answer = await server.http.post("/api/approvals/x", content=EDIT % number.encode())
        assert number in is_problem(answer, 400, "bad_input")


@pytest.mark.parametrize("number", [str(LOT), "0.1"])
async def test_an_edit_with_any_other_number_is_read(number):
    async with served() as server:
        answer = await server.http.post("/api/approvals/x", content=EDIT % number.encode())
        is_problem(answer, 404, "not_found")


def test_an_edit_with_a_number_that_would_be_rounded_is_refused_over_a_socket():
    payload = b'{"approvalId": "x", ' + EDIT[1:] % ROUNDED.encode()
    with pytest.raises(BadInput, match=ROUNDED):
        requests.payload([msgspec.Raw(b'"approval"'), msgspec.Raw(payload)], requests.Respond)


# of a model


@pytest.mark.parametrize(("number", "kept"), [(ROUNDED, {"a": 0.1}), ("1e400", {})])
def test_arguments_with_a_number_that_would_be_rounded_are_kept_and_say_why(number, kept):
    value, why = numbers.arguments(f'{{"a": {number}}}')
    assert value == kept
    assert f"The number {number} would be rounded to" in why


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        ("0.1000000000000000055", {"amount": 0.1}),
        ("12345678901234.123456789", {"amount": 12345678901234.123}),
        ("1e400", {}),
    ],
)
def test_arguments_with_a_number_that_would_be_rounded_are_kept_and_never_run(number, kept):
    text = f'{{"amount": {number}}}'
    _, out = read(start(), *block(TOOL, json_piece(text)), *stop("tool_use"))
    (call,) = [each for each in out if isinstance(each, UnreadableCall)]
    assert f"The number {number} would be rounded to" in call.why
    assert out[-1].blocks[0]["input"] == kept  # as the provider's own library has it
    assert out[-1].details == {"aside": {"block 0": {"partial_json": text}}}


def test_integers_of_any_size_are_arguments():
    text = '{"id": 123456789012345678901234567890, "amount": -9007199254740993}'
    _, out = read(start(), *block(TOOL, json_piece(text)), *stop("tool_use"))
    assert out[-1].blocks[0]["input"] == {
        "id": 123456789012345678901234567890,
        "amount": -9007199254740993,
    }
