"""A hostile model names another user inside of every kind of value that a tool takes."""

import logging
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

import msgspec
import pytest
from pydantic import AfterValidator

from turnlog import Agent, Settings, ToolContext, create_app, tool
from turnlog.config import load
from turnlog.errors import ConfigError, ToolError
from turnlog.events.kinds import ToolUse
from turnlog.ports import ToolSpec
from turnlog.stores.memory.store import MemoryStore
from turnlog.tools.approval import Policy
from turnlog.tools.identity import Identity
from turnlog.tools.runner import ToolRunner
from turnlog.tools.schema_places import MOST_PLACES
from turnlog.tools.tool import Tool

CONTEXT = ToolContext(user_id="alice", session_id="s", turn_id="t", tool_use_id="c")


class Order(msgspec.Struct):
    user_id: str
    item: str


class Renamed(msgspec.Struct, rename="camel"):
    user_id: str
    item: str


@dataclass
class Paid:
    item: str
    user_id: str = ""


class Typed(TypedDict):
    user_id: str
    item: str


class Deep(msgspec.Struct):
    orders: list[Order]
    by_name: dict[str, Order]
    again: "Deep | None" = None


async def run(one, **args):
    runner = ToolRunner([one], lambda _: CONTEXT, policy=Policy(server="never"))
    asked = ToolUse(tool_use_id="c", tool_name=one.name, args=args)
    (result,) = [batch async for batch in runner.run([asked])][-1]
    return result


BOB = {"user_id": "bob", "userId": "bob", "USER-ID": "bob", "item": "pen"}
DEEP = {"orders": [BOB], "by_name": {"x": BOB}}
FREE = {"item": "pen"}
KINDS = [
    (Order, BOB, {"user_id": "alice", "item": "pen"}),
    (Renamed, BOB, {"userId": "alice", "item": "pen"}),
    (Paid, BOB, {"user_id": "alice", "item": "pen"}),
    (Typed, BOB, {"user_id": "alice", "item": "pen"}),
    (list[Order], [BOB, BOB], [{"user_id": "alice", "item": "pen"}] * 2),
    (tuple[Order, ...], [BOB], [{"user_id": "alice", "item": "pen"}]),
    (dict[str, Order], {"a": BOB}, {"a": {"user_id": "alice", "item": "pen"}}),
    (Order | None, BOB, {"user_id": "alice", "item": "pen"}),
    (dict, BOB, FREE),
    (dict[str, Any], {"a": [BOB]}, {"a": [FREE]}),
    (list[dict], [BOB], [FREE]),
    (Any, BOB, FREE),
    (Deep, DEEP | {"again": DEEP}, None),
]


@pytest.mark.parametrize(("hint", "sent", "wanted"), KINDS, ids=lambda value: str(value)[:40])
async def test_a_tool_acts_for_who_asked_whatever_the_model_nests(hint, sent, wanted):
    def place(order):
        return order

    place.__annotations__ = {"order": hint}
    made = tool(place)
    assert "user" not in str(made.spec.input_schema).lower()
    result = await run(made, order=sent)
    assert result.success, result.error
    assert "bob" not in str(result.result)
    assert wanted is None or result.result == wanted
    assert hint is not Deep or str(result.result).count("alice") == 4


async def test_what_became_of_a_write_is_asked_for_who_asked():
    """After a crash the tool's `reconcile` gets the same arguments as the tool itself."""
    asked_for = []

    async def look_up(args, context):
        asked_for.append(args)
        return "done"

    @tool(reconcile=look_up)
    async def place_order(order: Order) -> str:
        return ""

    runner = ToolRunner([place_order], lambda _: CONTEXT, policy=Policy(server="never"))
    runner._standing.started.add("c")
    call = ToolUse(tool_use_id="c", tool_name="place_order", args={"order": BOB})
    assert [batch async for batch in runner.run([call])][-1][0].result == "done"
    assert asked_for == [{"order": {"user_id": "alice", "item": "pen"}}]


def test_no_edit_of_a_person_changes_who_acts_however_deep():
    @tool
    async def place_order(order: Order) -> str:
        return ""

    runner = ToolRunner([place_order], lambda _: CONTEXT)
    with pytest.raises(ToolError, match="'USER-ID' is not an argument"):
        runner.check(ToolUse(tool_use_id="c", tool_name="place_order", args={"order": BOB}))


class ByPlace(NamedTuple):
    user_id: str
    item: str


class AsList(msgspec.Struct, array_like=True):
    user_id: str


class Alias(msgspec.Struct):
    user_id: str = msgspec.field(name="who")


class Tenant(msgspec.Struct):
    tenant_id: str


class Numbered(msgspec.Struct):
    user_id: int


@pytest.mark.parametrize(
    ("hint", "why"),
    [
        (ByPlace, "ByPlace has 'user_id' by its place in a list"),
        (list[AsList], "AsList has 'user_id' by its place in a list"),
        (Alias, "Alias calls 'user_id' 'who' outside"),
        (Tenant, "nothing to fill 'tenant_id' with"),
        (dict[str, Numbered], "make it str"),
    ],
)
def test_an_identity_that_the_server_cannot_fill_is_refused_when_the_tool_is_made(hint, why):
    def place(order):
        return order

    place.__annotations__ = {"order": hint}
    with pytest.raises(TypeError, match=why):
        tool(place)


async def test_an_alias_is_filled_once_the_tool_says_what_it_is():
    @tool(identity={"who": "user"})
    def place(order: Alias) -> str:
        return order.user_id

    assert (await run(place, order={"who": "bob"})).result == "alice"


# names of one's own


class Owned(msgspec.Struct):
    owner_id: str
    account: str = ""


@tool
def own(thing: Owned) -> list:
    """Who owns it."""
    return [thing.owner_id, thing.account]


def app_with(*tools, **settings):
    agent = Agent("a", tools=tools)
    return create_app([agent], store=MemoryStore(), settings=Settings(**settings))


async def test_a_server_may_call_identity_by_other_names(tmp_path):
    file = tmp_path / "turnlog.toml"
    file.write_text('[identity]\nowner_id = "user"\naccount = "=acme"\n')
    app = app_with(own, identity=load({}, file).identity)
    (bound,) = app._agents["a"].tools
    assert "owner" not in str(bound.spec.input_schema)
    assert (await run(bound, thing={"ownerId": "bob", "account": "x"})).result == ["alice", "acme"]


def test_a_source_that_nobody_knows_stops_the_start(tmp_path):
    file = tmp_path / "turnlog.toml"
    file.write_text('[identity]\nowner_id = "usr"\n')
    with pytest.raises(ConfigError, match="not 'usr'"):
        load({}, file)


def test_a_parameter_that_the_servers_names_cannot_fill_stops_the_start():
    @tool
    def count(owner_id: int) -> int:
        return owner_id

    with pytest.raises(ConfigError, match="Agent 'a': tool 'count': 'owner_id' is filled"):
        app_with(count, identity={"owner_id": "user"})


def test_parameters_that_look_like_an_identity_are_named_at_the_start(caplog):
    with caplog.at_level(logging.WARNING):
        app_with(own)
    assert "the model sets 'owner_id', which looks as if it said who acts" in caplog.text
    assert "'account'" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        app_with(own, identity={"owner_id": "user", "account": "model"})
    assert caplog.text == ""


def test_the_demo_has_no_parameter_that_looks_like_an_identity(caplog):
    with caplog.at_level(logging.WARNING):
        create_app(store=MemoryStore(), settings=Settings())
    assert "looks as if" not in caplog.text


@pytest.mark.parametrize(
    "name", ["ownerId", "on_behalf_of", "accountId", "uid", "user_name", "Org"]
)
def test_what_looks_like_an_identity(name):
    assert Identity().look_alikes({"properties": {name: {}}}) == [name]


@pytest.mark.parametrize("name", ["amount", "number", "organic", "item_id", "user_id", "discount"])
def test_what_does_not_look_like_one(name):
    assert Identity().look_alikes({"properties": {name: {}}}) == []


# a hostile MCP server


def fan_out(levels):
    """Each level refers to the next one twice: 2 ** levels ways, in a few bytes."""
    defs = {
        f"n{n}": {"anyOf": [{"$ref": f"#/$defs/n{n + 1}"}, {"$ref": f"#/$defs/n{n + 1}"}]}
        for n in range(levels)
    }
    last = {"type": "object", "properties": {"user_id": {}}}
    return {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n0"}},
        "$defs": defs | {f"n{levels}": last},
    }


def test_references_that_fan_out_are_followed_once():
    """At two to the power of 200 ways, this would not end if any were walked twice."""
    schema = fan_out(200)
    assert "user_id" not in str(Identity().hidden(schema))
    args = {"a": {"user_id": "bob", "x": [{}] * 1000}}
    filled = Identity().filled(schema, args, CONTEXT)
    assert filled == {"a": {"user_id": "alice", "x": [{}] * 1000}}


def test_references_in_a_circle_end():
    schema = {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/x"}}}
    assert Identity().filled(schema, {"a": {"user_id": "bob"}}, CONTEXT) == {"a": {}}


def test_a_schema_with_too_many_places_is_refused():
    """Every value of its own place: a model and a server together cannot hold the others up."""
    names = [f"p{n}" for n in range(MOST_PLACES)]
    schema = {"properties": {name: {"type": "object"} for name in names}}
    with pytest.raises(ToolError, match="too tangled"):
        Identity().filled(schema, {name: {} for name in names}, CONTEXT)


@pytest.mark.parametrize("where", ["$defs", "x-parts"])
async def test_a_place_for_who_acts_is_filled_wherever_the_schema_has_it(where):
    """A reference may point to where no schema is looked for."""
    order = {"type": "object", "properties": {"user_id": {"type": "string"}, "item": {}}}
    schema = {"properties": {"order": {"$ref": f"#/{where}/order"}}, where: {"order": order}}
    spec = ToolSpec(name="place", description="", input_schema=schema)
    made = Tool(function=lambda arguments: arguments, spec=spec, arguments=None, writes=False)
    result = await run(made, order=BOB)
    assert result.result == {"order": {"user_id": "alice", "item": "pen"}}


async def test_the_arguments_of_a_read_are_checked_once():
    checked = []

    def check(text):
        checked.append(text)
        return text

    @tool
    def get_order(number: Annotated[str, AfterValidator(check)]) -> str:
        return number

    assert (await run(get_order, number="7")).result == "7"
    assert checked == ["7"]
