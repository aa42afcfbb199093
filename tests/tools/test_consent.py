"""Approvals fail closed: unknown rules are refused, and whatever is no clear read asks."""

import logging
from dataclasses import replace

import pytest
from tool_names import READS, WRITES

from turnlog import Agent, Settings, tool
from turnlog.cli import main
from turnlog.errors import ConfigError
from turnlog.events.kinds import ToolUse
from turnlog.ports import Standing, ToolSpec, ToolStarted
from turnlog.projections import tool_words
from turnlog.projections.tool_words import judge
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.office import office
from turnlog.tools.agents.listing import rows
from turnlog.tools.approval import Policy
from turnlog.tools.mcp.catalog import Listed
from turnlog.tools.mcp.server import McpServer
from turnlog.tools.mcp.source import Source
from turnlog.tools.runner import ToolRunner
from turnlog.tools.tool import ToolContext

CONTEXT = ToolContext(user_id="u", session_id="s", turn_id="t", tool_use_id="toolu_1")

# names


def named(name, **rules):
    @tool(name=name, **rules)
    async def function() -> str:
        """Does something."""
        return "done"

    return function


@pytest.mark.parametrize("name", WRITES)
def test_a_name_that_is_no_clear_read_asks_and_is_never_run_twice(name):
    assert Policy().asks_for(named(name))
    assert named(name).writes is not False


@pytest.mark.parametrize("name", READS)
def test_a_clear_read_asks_nobody(name):
    assert not Policy().asks_for(named(name))


@pytest.mark.parametrize("writes", [True, False])
@pytest.mark.parametrize("name", ["delete_all", "list_all", "frobnicate"])
def test_the_tool_s_own_word_decides(name, writes):
    made = named(name, writes=writes)
    assert (made.writes, Policy().asks_for(made)) == (writes, writes)


def test_a_name_that_is_not_ascii_is_no_clear_read():
    assert judge("list_löschen").writes is None
    assert judge("___").writes is None


async def test_what_may_write_is_not_run_again_after_a_crash():
    """The names that were taken for reads, and so run twice."""
    ran = []
    for name in ("get_or_create_customer", "fetch_and_delete", "run_sql", "frobnicate"):

        @tool(name=name, approval="never")
        async def function() -> str:
            """Counts."""
            ran.append(1)
            return "done"

        call = ToolUse(tool_use_id="toolu_1", tool_name=name, args={})
        begun = Standing(started={"toolu_1"})  # by a process that died
        runner = ToolRunner([function], lambda _: CONTEXT, standing=begun)
        (batch,) = [batch async for batch in runner.run([call])]
        assert batch[0].in_doubt, name
        fresh = ToolRunner([function], lambda _: CONTEXT)
        first = await anext(aiter(fresh.run([call])))
        assert isinstance(first[0], ToolStarted), name  # on disk before it runs
    assert ran == []


# rules

WRONG = ["alway", "Always", "", "ask", True, 1, ["always"]]


@pytest.mark.parametrize("rule", WRONG)
def test_an_unknown_rule_is_refused_where_it_is_written(rule):
    for made in (
        lambda: named("pay", approval=rule),
        lambda: Agent("a", approval=rule),
        lambda: McpServer("crm", url="http://crm", approval=rule),
        lambda: Settings(approval=rule),
        lambda: replace(named("pay"), approval=rule),
    ):
        with pytest.raises(ConfigError, match="'approval' must be one of always, never, writes"):
            made()


def test_a_role_without_its_prefix_is_told_how_it_is_written():
    with pytest.raises(ConfigError, match="Did you mean 'role:finance'"):
        named("pay", approver="finance")


def test_the_nearest_rule_is_named():
    with pytest.raises(ConfigError, match="agent 'a': .* Did you mean 'always'"):
        Agent("a", approval="alway")


def test_an_unknown_rule_that_got_in_all_the_same_asks():
    assert Policy(server="alway").asks_for(named("list_items"))
    assert Policy(agent="alway").asks_for(named("list_items"))
    sneaked = named("list_items")
    object.__setattr__(sneaked, "approval", "alway")
    assert Policy(server="never").asks_for(sneaked)


@pytest.mark.parametrize("writes", ["no", "false", 0.5, "", []])
def test_writes_is_true_or_false(writes):
    with pytest.raises(ConfigError, match="'writes' must be True or False"):
        named("pay", writes=writes)


@pytest.mark.parametrize("approver", ["askr", "role", "role:", "role: x", "asker:x", "", 7, "boss"])
def test_an_unknown_approver_is_refused_where_it_is_written(approver):
    for made in (
        lambda: named("pay", approver=approver),
        lambda: Agent("a", approver=approver),
        lambda: McpServer("crm", url="http://crm", approver=approver),
        lambda: Settings(approver=approver),
    ):
        with pytest.raises(ConfigError, match="'approver' must be one of asker, others"):
            made()


# what people read


def listed(made, **policy):
    (row,) = rows(Agent("erp"), [made], Policy(**policy))
    return row.effect, row.asks, row.why


def test_each_tool_is_listed_with_whether_it_asks_and_why():
    begins = "its name begins with 'list'"
    says_writes = "the server says: ask for what may write"
    assert listed(named("list_items")) == ("reads", "nobody", f"{begins}; {says_writes}")
    effect, asks, why = listed(named("mark_paid"))
    assert (effect, asks, why.split(";")[0]) == ("writes", "asker", "its name has 'mark'")
    effect, asks, why = listed(named("frobnicate"))
    assert (effect, asks) == ("may write", "asker")
    assert why.startswith("'frobnicate' is not clearly a read")
    always = listed(named("list_items"), agent="always")
    assert always == ("reads", "asker", f"{begins}; its agent says: always ask")
    never = listed(named("pay", writes=True, approval="never"))
    assert never == ("writes", "nobody", "it says writes=True; the tool says: never ask")


def test_turnlog_tools_lists_every_tool_of_every_agent(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(
        "from turnlog import Agent, create_app, tool\n"
        "@tool\n"
        "async def refund_payment(amount: int) -> str:\n    return 'done'\n"
        "@tool\n"
        "async def list_orders() -> str:\n    return 'none'\n"
        "app = create_app([Agent('shop', tools=[refund_payment, list_orders]),\n"
        "                  Agent('desk', tools=[list_orders], approval='always')])\n"
    )
    assert main(["tools", "shop:app"]) == 0
    lines = [line.split(None, 4) for line in capsys.readouterr().out.splitlines()]
    assert [line[:4] for line in lines[1:]] == [
        ["shop", "refund_payment", "writes", "asker"],
        ["shop", "list_orders", "reads", "nobody"],
        ["desk", "list_orders", "reads", "asker"],
    ]


@pytest.mark.slow
def test_turnlog_tools_asks_mcp_servers_too(tmp_path, monkeypatch, capsys):
    """The demo has its tasks from a server, which is this very process."""
    monkeypatch.chdir(tmp_path)
    assert main(["tools"]) == 0
    out = capsys.readouterr().out
    assert "tasks (5 tools)" in out
    told = [line for line in out.splitlines() if line.startswith("tasks") and "delete_task" in line]
    assert "MCP server tasks does not say that it only reads; the tool says: never ask" in told[0]


async def test_the_start_names_every_tool_in_the_log(caplog):
    caplog.set_level(logging.INFO, "turnlog")
    async with office():
        pass
    assert "tools of clerk: pay: writes, asks asker: its name has 'pay'" in caplog.text
    assert (
        "pay_slowly, pay_late, pay_nobody: writes, asks nobody: its name has 'pay'" in caplog.text
    )


# and it is so


async def test_a_tool_without_a_word_about_itself_waits_for_a_person():
    ran = []

    @tool
    async def frobnicate() -> str:
        """Nobody can tell what this does."""
        ran.append(1)
        return "done"

    call = Reply(ToolCall("frobnicate", {}, "toolu_1"))
    async with office(call, Reply("Done."), more=[frobnicate]) as desk:
        session, (question,) = await desk.asked()
        assert (question["toolName"], ran) == ("frobnicate", [])
        assert (await desk.answer(question)).status_code == 200
        await desk.rest()
    assert ran == [1]


READ_WORDS = sorted(tool_words.VERBS[False])[::3]
WRITE_WORDS = sorted(tool_words.VERBS[True] | set(tool_words._ALSO_WRITING.split()))
JOINED = ["{r}_and_{w}", "{r}_or_{w}_item", "{r}Then{W}", "{r}-and-{w}", "{r}.items.or.{w}.them"]
PLAIN = ["{w}", "{w}_item", "item_{w}", "bulk_{w}", "crm__{w}_item", "{W}Item", "item{W}"]


@pytest.mark.parametrize("form", JOINED + PLAIN)
def test_no_word_of_writing_passes_for_a_read_in_any_form(form):
    reads = READ_WORDS if "{r}" in form else [""]
    names = [form.format(r=r, w=w, W=w.title()) for r in reads for w in WRITE_WORDS]
    assert [name for name in names if judge(name).writes is False] == []


def test_the_tools_of_an_mcp_server_have_its_rules():
    server = McpServer("crm", url="http://crm", approval="always", approver="others:sales")
    spec = ToolSpec(name="crm__find", description="", input_schema={"type": "object"})
    theirs = Listed("find", {}, spec, writes=True, why="it is not trusted", repeatable=False)
    made = Source(server, lambda _: "", None, {})._tool(theirs)
    (row,) = rows(Agent("a", approver="asker"), [made], Policy(agent_approver="asker"))
    assert (row.asks, row.why) == ("others:sales", "it is not trusted; the tool says: always ask")
