"""Tools as people write them: the schema is right, arguments are checked, nothing is ignored."""

import enum
import inspect
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from uuid import UUID

import annotated_types
import msgspec
import pydantic
import pytest
from msgspec import Meta
from pydantic import BaseModel, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from turnlog import ToolContext, ToolError, tool

CONTEXT = ToolContext(user_id="alice", session_id="s", turn_id="t", tool_use_id="toolu_1")


class Line(BaseModel):
    item: str = Field(min_length=1)
    count: int = Field(1, ge=1, le=99)


class Order(BaseModel):
    """What a customer wants."""

    number: str = Field(alias="orderNumber", description="Ours")
    lines: list[Line]
    due: date | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: Annotated[int, Meta(ge=0)]
    y: int = 0


@dataclass
class Bounded:
    """A plain dataclass with marks of pydantic, which msgspec would not see."""

    size: Annotated[int, Field(ge=1)]


class Where(TypedDict):
    city: str
    zip: Annotated[str, Field(pattern=r"^[0-9]{5}$")]


def taken(hint, default=inspect.Parameter.empty):
    """A tool with one parameter of this type. It returns what it was called with."""

    def take(value):
        """Take it."""
        return repr(value)

    take.__annotations__ = {"value": hint, "return": str}
    if default is not inspect.Parameter.empty:
        take.__defaults__ = (default,)
    return tool(writes=False)(take)


def given(made, **args):
    return made.given(args, CONTEXT)["value"]


# fmt: off
FITS = [
    (Line,                                    {"item": "a"},               Line(item="a", count=1)),
    (Order,                                   {"orderNumber": "1", "lines": [{"item": "a"}]},
     Order(orderNumber="1", lines=[Line(item="a")])),
    (list[Line],                              [{"item": "a"}],             [Line(item="a")]),
    (Line | None,                             None,                        None),
    (Line | None,                             {"item": "a"},               Line(item="a")),
    (Cat | Dog,                               {"kind": "dog", "name": "R"},
     Dog(kind="dog", name="R")),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat", "lives": 9},
     Cat(kind="cat", lives=9)),
    (dict[str, Line],                         {"k": {"item": "a"}},        {"k": Line(item="a")}),
    (Annotated[int, Field(ge=1)],             5,                           5),
    (Annotated[int, annotated_types.Ge(1)],   5,                           5),
    (Annotated[int, Meta(ge=1)],              5,                           5),
    (Annotated[str, "The name"],              "x",                         "x"),
    (pydantic.PositiveInt,                    5,                           5),
    (Point,                                   {"x": 1},                    Point(1)),
    (Bounded,                                 {"size": 2},                 Bounded(2)),
    (Where,                                   {"city": "Ulm", "zip": "89073"},
     {"city": "Ulm", "zip": "89073"}),
    (Colour,                                  "red",                       Colour.RED),
    (datetime,                                "2026-11-17T10:00:00Z",
     datetime.fromisoformat("2026-11-17T10:00:00+00:00")),
    (UUID,                                    "12345678-1234-5678-1234-567812345678",
     UUID("12345678-1234-5678-1234-567812345678")),
    (Path,                                    "a/b",                       Path("a/b")),
    (int | list[int] | str,                   [1],                         [1]),
    (set[int],                                [1, 2],                      {1, 2}),
]
REFUSED = [
    (Line,                                  {"item": ""},                   "item"),
    (Line,                                  {"item": "a", "count": 100},    "count"),
    (Order,                                 {"number": "1", "lines": []},   "orderNumber"),
    (list[Line],                            [{"item": "a"}, {}],            "1"),
    (Annotated[int, Field(ge=1)],           0,                              "or equal to 1"),
    (Annotated[int, annotated_types.Ge(1)], 0,                              "or equal to 1"),
    (Annotated[int, Meta(ge=1)],            0,                              ">= 1"),
    (Annotated[str, Field(max_length=2)],   "abc",                          "2 characters"),
    (Annotated[str, Field(pattern="^a$")],  "b",                            "pattern"),
    (Point,                                 {"x": -1},                      ">= 0"),
    (Bounded,                               {"size": 0},                    "size"),
    (Where,                                 {"city": "Ulm", "zip": "x"},    "zip"),
    (Colour,                                "green",                        "green"),
    (Cat | Dog,                             {"kind": "cow"},                "cat"),
]
# fmt: on


@pytest.mark.parametrize(("hint", "value", "made"), FITS)
def test_what_fits_becomes_what_the_function_wants(hint, value, made):
    assert given(taken(hint), value=value) == made


@pytest.mark.parametrize(("hint", "value", "why"), REFUSED)
def test_what_does_not_fit_is_told_to_the_model(hint, value, why):
    with pytest.raises(ToolError, match=why):
        given(taken(hint), value=value)


@pytest.mark.parametrize("hint", [each[0] for each in FITS], ids=str)
def test_a_schema_stands_alone(hint):
    """Every reference leads to a definition at the top."""
    schema = taken(hint).spec.input_schema
    assert schema["type"] == "object" and "value" in schema["properties"]

    def references(part):
        if isinstance(part, dict):
            yield from [part["$ref"]] if isinstance(part.get("$ref"), str) else []
            assert "$defs" not in part or part is schema
            part = list(part.values())
        for each in part if isinstance(part, list) else ():
            yield from references(each)

    for reference in references(schema):
        assert reference.removeprefix("#/$defs/") in schema["$defs"], reference


def test_a_model_has_its_own_schema():
    schema = taken(Order).spec.input_schema
    order = schema["properties"]["value"]
    order = schema["$defs"]["Order"] if "$ref" in order else order
    assert order["properties"]["orderNumber"]["description"] == "Ours"
    assert schema["$defs"]["Line"]["properties"]["count"]["maximum"] == 99


def test_bounds_of_a_field_are_in_the_schema():
    @tool(writes=False)
    def look(
        size: Annotated[int, Field(ge=1, description="How big")],
        limit: int = Field(10, le=50),
        wanted: str = Field(description="What"),
    ) -> str:
        return f"{size} {limit} {wanted}"

    schema = look.spec.input_schema
    assert schema["properties"]["size"] == {
        "description": "How big",
        "minimum": 1,
        "type": "integer",
    }
    assert schema["properties"]["limit"]["maximum"] == 50
    assert schema["required"] == ["size", "wanted"]
    assert look.given({"size": 1, "wanted": "w"}, CONTEXT) == {
        "size": 1,
        "limit": 10,
        "wanted": "w",
    }
    with pytest.raises(ToolError, match="limit"):
        look.given({"size": 1, "wanted": "w", "limit": 51}, CONTEXT)


class Plain:
    """Nobody knows what this would be in JSON."""


@pytest.mark.parametrize("hint", [Plain, list[Plain], dict[str, Plain], complex | Plain])
def test_a_type_without_a_schema_is_refused_when_the_tool_is_made(hint):
    with pytest.raises(TypeError, match=r"parameter 'value' has the type .*no JSON schema"):
        taken(hint)


def test_a_mark_that_nobody_reads_is_refused():
    with pytest.raises(TypeError, match="nobody reads here"):
        taken(Annotated[int, object()])


def test_a_hint_that_cannot_be_read_is_refused():
    def lost(value: "Nowhere") -> str:  # noqa: F821 - a name that is not there is what is tested
        return ""

    with pytest.raises(TypeError, match="a type hint cannot be read: name 'Nowhere'"):
        tool(lost)


def test_two_types_of_one_name_are_refused():
    one = pydantic.create_model("Same", a=(int, ...))
    other = pydantic.create_model("Same", b=(str, ...))
    holds_one = pydantic.create_model("One", same=(one, ...), more=(list[one], ...))
    holds_other = pydantic.create_model("Other", same=(other, ...), more=(list[other], ...))

    def mix(a, b):
        return ""

    mix.__annotations__ = {"a": holds_one, "b": holds_other, "return": str}
    with pytest.raises(TypeError, match="called 'Same'"):
        tool(mix)


# who acts


class Owned(BaseModel):
    title: str
    user_id: str


class Aliased(BaseModel):
    user_id: str = Field(alias="owner")


class Chosen(BaseModel):
    user_id: str = Field(validation_alias=pydantic.AliasChoices("user_id", "owner"))


class Deep(BaseModel):
    user_id: str = Field(validation_alias=pydantic.AliasPath("meta", "owner"))


class Camel(BaseModel):
    model_config = {"alias_generator": to_camel}
    user_id: str
    line_count: int


class Pair(NamedTuple):
    user_id: str
    line: Annotated[str, Field(min_length=1)]


def test_a_model_does_not_let_the_language_model_say_who_acts():
    made = taken(Owned)
    assert "user_id" not in str(made.spec.input_schema)
    owned = given(made, value={"title": "x", "user_id": "bob", "userId": "bob"})
    assert owned == Owned(title="x", user_id="alice")


def test_a_spelling_of_an_identity_is_filled_too():
    assert given(taken(Camel), value={"lineCount": 2, "userId": "bob"}).user_id == "alice"


@pytest.mark.parametrize("hint", [Aliased, Pair, Chosen, Deep])
def test_an_identity_that_cannot_be_filled_is_refused(hint):
    with pytest.raises(TypeError, match="user_id"):
        taken(hint)


def test_a_struct_stays_a_struct():
    class Item(msgspec.Struct):
        name: str

    assert given(taken(Item), value={"name": "x"}) == Item("x")


class Fussy(BaseModel):
    """Its check raises what pydantic does not expect."""

    name: str

    @pydantic.field_validator("name")
    @classmethod
    def check(cls, name):
        raise KeyError("a secret")


def test_a_validator_that_fails_is_told_to_the_model_without_its_words():
    with pytest.raises(ToolError, match=r"The check failed \(KeyError\)") as told:
        given(taken(Fussy), value={"name": "a"})
    assert "secret" not in str(told.value)
