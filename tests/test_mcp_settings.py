"""MCP servers as they are configured: one line, and a sentence for what cannot work."""

from dataclasses import replace

import msgspec
import pytest

from turnlog import Agent, McpServer, Settings, create_app
from turnlog.config import load
from turnlog.errors import ConfigError
from turnlog.stores.memory.store import MemoryStore
from turnlog.tools.identity import Identity
from turnlog.tools.mcp.catalog import MOST_TOOLS, Left, clean, listed, safe_name


@pytest.fixture
def file(tmp_path):
    return tmp_path / "turnlog.toml"


def test_one_line_is_enough(file):
    file.write_text('[mcp.crm]\nurl = "http://crm/mcp"\n[mcp.files]\ncommand = "npx files ."\n')
    crm, files = load({}, file).mcp
    assert crm == McpServer("crm", url="http://crm/mcp")
    assert files.program == ["npx", "files", "."]
    assert (crm.trusted, crm.prefix, crm.approval, crm.timeout) == (False, True, None, 60.0)


def test_everything_can_be_said_and_secrets_come_from_the_environment(file):
    file.write_text("""
        [mcp.crm]
        url = "https://crm.example/mcp"
        headers = {Authorization = "Bearer ${CRM_KEY}", Price = "5$$"}
        identity = {owner = "user", org = "=acme"}
        approval = "always"
        trusted = true
        timeout = 5
        agents = ["erp"]
    """)
    (crm,) = load({"CRM_KEY": "hush"}, file).mcp
    assert crm.headers == {"Authorization": "Bearer hush", "Price": "5$"}
    assert (crm.identity["owner"], crm.timeout, crm.agents) == ("user", 5, ["erp"])
    assert "hush" not in repr(crm)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "give either 'url' or 'command'"),
        ('url = "http://a"\ncommand = "b"', "give either 'url' or 'command'"),
        ('url = "ftp://a"', "must begin with http"),
        ("url = 5", "Expected `str"),
        ('url = "http://a"\ncolor = "red"', "unknown setting: 'color'"),
        ('url = "http://a"\napproval = "maybe"', "Invalid enum value 'maybe'"),
        ('url = "http://a"\ntimeout = 0', "'timeout' must be"),
        ('url = "http://a"\nidentity = "name"', "'identity' is \"token\""),
        ('url = "http://a"\nidentity = "token"', "needs 'token_secret'"),
        ('url = "http://a"\nidentity = {a = "password"}', "'identity' fills with user"),
        ('url = "http://a"\nheaders = {a = "${GONE}"}', "'GONE' is not set in the environment"),
        ('command = "a"\nuser_header = "b"', "name an argument in 'identity'"),
    ],
)
def test_what_cannot_work_is_said(file, line, why):
    file.write_text(f"[mcp.crm]\n{line}\n")
    with pytest.raises(ConfigError, match=why) as refused:
        load({}, file)
    assert str(refused.value).startswith("mcp.crm")


@pytest.mark.parametrize("name", ["", "a__b", "a b", "_a", "x" * 25, "ä"])
def test_a_name_that_tools_cannot_begin_with_is_refused(name):
    with pytest.raises(ConfigError, match="a name has"):
        McpServer(name, url="http://a")


def test_two_servers_with_one_name_are_refused():
    agents = [Agent("a", mcp=[McpServer("crm", url="http://a")])]
    settings = Settings(mcp=(McpServer("crm", url="http://b"),))
    with pytest.raises(ConfigError, match="Two MCP servers have the name 'crm'"):
        create_app(agents, settings=settings, store=MemoryStore())


def test_two_servers_without_a_prefix_are_refused_for_one_agent():
    one = McpServer("crm", url="http://a", prefix=False)
    agents = [Agent("a", mcp=[one]), Agent("b", mcp=[one])]
    other = McpServer("erp", url="http://b", prefix=False, agents=["b"])
    wrong = "mcp.crm and mcp.erp: agent 'b' has both with prefix = false"
    with pytest.raises(ConfigError, match=wrong):
        create_app(agents, settings=Settings(mcp=(other,)), store=MemoryStore())
    apart = Settings(mcp=(replace(other, agents=["c"]),))
    create_app([*agents, Agent("c")], settings=apart, store=MemoryStore())


@pytest.mark.parametrize("wrong", ["http://a", 5])
def test_what_is_no_server_is_refused(wrong):
    with pytest.raises(ConfigError, match="is not an MCP server"):
        create_app([Agent("a", mcp=[wrong])], settings=Settings(), store=MemoryStore())


def test_a_server_for_an_agent_that_is_not_there_is_refused():
    settings = Settings(mcp=(McpServer("crm", url="http://a", agents=["erp"]),))
    with pytest.raises(ConfigError, match="there is no agent 'erp'"):
        create_app([Agent("a")], settings=settings, store=MemoryStore())


def test_a_server_is_for_every_agent_or_for_those_it_names():
    servers = McpServer("all", url="http://a"), McpServer("one", url="http://b", agents=["b"])
    app = create_app([Agent("a"), Agent("b")], settings=Settings(mcp=servers), store=MemoryStore())
    found = {id: [s.server.name for s in each] for id, each in app._mcp._of_agent.items()}
    assert found == {"a": ["all"], "b": ["all", "one"]}


# what a listing may hold


class Theirs:
    """A tool as the protocol has it."""

    def __init__(self, name, schema=None):
        self.name, self.description, self.title, self.annotations = name, None, None, None
        self.input_schema = {} if schema is None else schema


CRM = McpServer("crm", url="http://a")


@pytest.mark.parametrize("schema", [5, [], {"type": "string"}, {"properties": []}])
def test_a_schema_that_is_no_object_is_left_out(schema):
    (left,) = listed(CRM, [Theirs("a", schema)], Identity())
    assert isinstance(left, Left)


def test_a_name_that_is_there_twice_is_one_tool_and_there_are_not_too_many():
    found = list(
        listed(CRM, [Theirs("a"), Theirs("a"), *(Theirs(f"t{n}") for n in range(200))], Identity())
    )
    assert [type(each) is Left for each in found[:3]] == [False, True, False]
    assert sum(type(each) is not Left for each in found) == MOST_TOOLS - 1
    assert found[-1].name == "129 and those after it"
    assert found[-1].why == "there are too many: name those that are needed in [mcp.crm] tools"


def test_the_tools_of_a_server_have_a_bound_together():
    wide = {"type": "object", "properties": {"a": {"enum": ["x" * 30_000]}}}
    names = [f"t{n}" for n in range(20)]
    found = list(listed(CRM, [Theirs(name, wide) for name in names], Identity()))
    offered = [each.spec for each in found if not isinstance(each, Left)]
    assert 1 < len(offered) < 20
    assert len(msgspec.json.encode(offered)) <= 256_100
    assert "[mcp.crm] tools" in found[-1].why
    some = replace(CRM, tools=names[-3:])
    chosen = listed(some, [Theirs(name, wide) for name in names], Identity())
    assert [each.name for each in chosen] == names[-3:]


def test_a_tool_that_is_wanted_and_not_there_is_told():
    found = listed(replace(CRM, tools=["find", "fnd"]), [Theirs("find")], Identity())
    assert list(found)[1:] == [Left("fnd", "the server has none of this name")]


def test_a_list_of_no_tools_takes_none():
    assert list(listed(replace(CRM, tools=[]), [Theirs("find")], Identity())) == []


def test_the_tools_that_are_wanted_are_a_list():
    with pytest.raises(ConfigError, match="'tools' is a list of names"):
        replace(CRM, tools="find")


def test_names_that_differ_stay_different():
    names = ["a b", "a_b", "a/b", "a" * 70, "a" * 71, "", "ä"]
    assert len({safe_name(CRM, name) for name in names}) == len(names)


def test_what_people_do_not_see_the_model_does_not_either():
    assert clean("a\u202eb\x00c\U000e0041\nd\te", 99) == "abc\nd\te"
    assert clean("abcdef", 4) == "abc…"
