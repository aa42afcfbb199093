"""What a tool declares wrongly is refused when it is made, with a sentence."""

import logging
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta
from pydantic import BaseModel, Field

from turnlog import Agent, tool
from turnlog.errors import ConfigError
from turnlog.tools.agents import checks
from turnlog.tools.approval import description


def close_ticket(ticket: str) -> str:
    """Close a ticket."""
    return ticket


class Size(Enum):
    SMALL = "small"


class Line(BaseModel):
    item: str = "1000"


@dataclass
class Place:
    street: str = "Long Lane"
    tags: list[str] = field(default_factory=list)


@pytest.mark.parametrize("timeout", ["5s", -1, 0, None, True, float("nan"), float("inf")])
def test_a_time_limit_is_a_positive_number_of_seconds(timeout):
    with pytest.raises(ConfigError, match="'timeout' must be a positive number of seconds"):
        tool(timeout=timeout)(close_ticket)


@pytest.mark.parametrize("timeout", [1, 0.5, 86_400])
def test_a_time_limit_may_be_whole_or_not(timeout):
    assert tool(timeout=timeout)(close_ticket).timeout == timeout


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, "abc"),
        (list[int], ["a"]),
        (Literal["a", "b"], "c"),
        (Size, "large"),
        (Annotated[int, Meta(ge=1)], 0),
        (Annotated[int, Field(ge=1)], 0),
    ],
)
def test_a_default_must_fit_its_own_type(hint, default):
    def find(x: hint = default) -> str:
        """Find."""
        return ""

    with pytest.raises(TypeError, match="tool 'find': parameter 'x' has a default that does not"):
        tool(find)


def test_none_is_a_default_where_the_hint_says_so():
    def find(x: int = None) -> str:  # type: ignore[assignment]  # what is tested
        """Find."""
        return ""

    with pytest.raises(TypeError, match=r"Write `\| None` in the hint, too\."):
        tool(find)


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (float, 1),
        (int | None, None),
        (Size, Size.SMALL),
        (date, date(2026, 11, 17)),
        (Decimal, Decimal("1.5")),
        (tuple[int, ...], (1, 2)),
        (set[str], {"a"}),
        (dict[str, int], {"a": 1}),
        (Place, Place()),
        (list[Line], [Line()]),
        (Line, Line()),
        (Line | None, None),
        (Any, "abc"),
    ],
)
def test_a_default_that_fits_is_taken(hint, default):
    def find(x: hint = default) -> str:
        """Find."""
        return ""

    assert tool(find).name == "find"


def test_a_class_is_no_tool():
    with pytest.raises(TypeError, match="'Place' is a class. Decorate a function that uses it"):
        tool(Place)


def test_an_option_without_its_name_is_no_tool():
    with pytest.raises(TypeError, match="not 'close'. Options have names: name="):
        tool("close")  # type: ignore[call-overload]  # what is tested


@pytest.mark.parametrize(
    ("describe", "sentence"),
    [
        ("Close {tiket}", "no parameter: 'tiket'. Did you mean 'ticket'\\? There are: ticket"),
        ("Close {}", "no parameter: ''. There are: ticket"),
        ("Close {ticket", "cannot be read"),
        (5, "must be a text or a function"),
    ],
)
def test_a_description_names_parameters_that_are_there(describe, sentence):
    with pytest.raises(ConfigError, match=f"tool 'close_ticket': 'describe' .*{sentence}"):
        tool(describe=describe)(close_ticket)


@pytest.mark.parametrize("describe", ["Close {ticket}", "Close {ticket!r:>9}", "{{all}}", str])
def test_a_description_that_fits_is_taken(describe):
    assert tool(describe=describe)(close_ticket).describe == describe


DESCRIBED = {
    "Order {items}": 'Order ["nut","bolt"]',
    "Order {items[1]}": "Order bolt",
    "Pay {price:.2f}, {express}": "Pay 2.50, true",
    "Say {text}": "Say two lines",
}


@pytest.mark.parametrize("describe", DESCRIBED)
def test_a_person_is_told_values_and_not_what_python_writes_for_them(describe):
    @tool(describe=describe)
    def order(items: list[str], price: float, express: bool, text: str) -> str:
        """Order them."""
        return ""

    args = {"items": ["nut", "bolt"], "price": 2.5, "express": True, "text": "two\nlines"}
    assert description(order, args) == DESCRIBED[describe]


def test_a_tool_without_a_docstring_is_named_at_the_start(caplog):
    def find(x: int) -> str:
        return ""

    with caplog.at_level(logging.WARNING):
        checks.identified([Agent("a", tools=[tool(find), tool(close_ticket)])], {})
    (line,) = caplog.messages
    assert line.startswith("tool find of agent a has no docstring")
