"""What a server remembers of sessions changes nothing that a model is told, and has a limit."""

import pytest

from turnlog.pipeline.windows import SessionWindow, Windows
from turnlog.ports import Agent
from turnlog.projections.history.window.fold import Window
from turnlog.simulator import RawBlock, Reply, Text, Thinking, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.testing.apps import scripted_app
from turnlog.tools.tool import tool
from turnlog.transports.auth import LOCAL_USER as USER


@tool(writes=False)
async def look(at: str = "it") -> str:
    """Look at something."""
    return f"saw {at}"


TEAM = [Agent("desk", tools=[look], hands_over_to=["erp"]), Agent("erp", tools=[look])]
TO_ERP = ToolCall("transfer_to_erp", {"reason": "An order."})
TURNS = [
    [Reply(Thinking("Hm."), Text("Hello."))],
    [Reply(Text("I look."), ToolCall("look")), Reply("Seen.")],
    [Reply(TO_ERP), Reply(Thinking("An order?"), Text("It is open."))],
    [Reply(RawBlock({"type": "text", "text": " "}), Text("Blank before it."))],
    [Reply(ToolCall("look"), ToolCall("look", {"at": "b"})), Reply(Thinking("So."), Text("Two."))],
    [Reply("No.", stop_reason="refusal")],
    [Reply("And yes.")],
    [Reply(ToolCall("look"), TO_ERP), Reply("The order is sent."), Reply("Both are done.")],
    [Reply("Good-bye.")],
]  # fmt: skip


async def told(nodes, **settings):
    """What the models of these nodes were told, one after the other."""
    store, requests, session = MemoryStore(), [], None
    for turns in nodes:
        async with scripted_app(agents=TEAM, store=store, model="claude-opus-4-5", **settings) as (
            app,
            sim,
        ):
            session = session or (await app.create_session(USER)).id
            for turn, replies in turns:
                sim.queue(*replies)
                result = await app.run_turn(f"Go on, {turn}.", session_id=session, user_id=USER)
                assert result.success and sim.pending == 0, result.error
            assert sim.refused == []
            requests += sim.requests
    return without_ids(requests)


async def test_the_model_is_told_the_same_whatever_the_server_remembers():
    turns = [*enumerate(TURNS)]
    forgetful = await told([turns], window_bytes=0)
    assert await told([turns]) == forgetful
    assert await told([turns[:3], turns[3:5], turns[5:]]) == forgetful  # it was started again


async def test_only_what_is_new_is_read(monkeypatch):
    sizes, after = [], SessionWindow._after

    async def counted(window, position):
        entries = await after(window, position)
        sizes.append(len(entries))
        return entries

    monkeypatch.setattr(SessionWindow, "_after", counted)
    talk = [*enumerate([[Reply("Yes.")]] * 20)]
    await told([talk])
    assert sizes == [1] + [3] * 19  # the last question again, its answer, the new question
    await told([talk], window_bytes=0)
    assert sizes[20:] == [*range(1, 40, 2)]


async def test_what_another_node_has_written_is_told():
    store, session = MemoryStore(), None
    async with (
        scripted_app(agents=TEAM, store=store) as (here, one),
        scripted_app(agents=TEAM, store=store) as (there, two),
    ):
        session = (await here.create_session(USER)).id
        for turn, (app, sim) in enumerate([(here, one), (there, two), (there, two), (here, one)]):
            sim.queue(Reply(f"Answer {turn}."))
            await app.run_turn(f"Question {turn}.", session_id=session, user_id=USER)
    words = [block["text"] for m in one.requests[-1]["messages"] for block in m["content"]]
    told = [text for turn in range(3) for text in (f"Question {turn}.", f"Answer {turn}.")]
    assert words == [*told, "Question 3."]


def without_ids(requests):
    """The requests; ids of calls by when they came."""
    text, known = repr(requests), {}
    for part in text.split("'"):
        if part.startswith("toolu_"):
            known.setdefault(part, f"call {len(known)}")
    for id, name in known.items():
        text = text.replace(id, name)
    return text


def test_the_windows_that_were_used_last_stay_within_the_limit():
    log = s.log_of([s.asked("One."), s.said("x" * 4_000)])
    size = Window("a", 0, log).bytes
    windows = Windows(most=3 * size)
    for number in range(50):
        windows.keep(("alice", f"s{number}", "a"), Window("a", 0, log))
    windows.keep(("alice", "s47", "a"), Window("a", 0, log))  # used again
    windows.keep(("alice", "s50", "a"), Window("a", 0, log))
    left = [number for number in range(51) if windows.pop(("alice", f"s{number}", "a"))]
    assert (left, windows._bytes) == ([47, 49, 50], 0)
    assert windows.pop(("bob", "s49", "a")) is None


@pytest.mark.parametrize("turns", [1, 30])
def test_the_memory_of_a_window_is_counted_for_what_it_holds(turns):
    log = s.log_of(*[[s.asked("Go on."), s.said("x" * 4_000)] for _ in range(turns)])
    assert turns * 4_000 < Window("a", 0, log).bytes < turns * 8_000 + 4_000
