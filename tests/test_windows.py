"""What a server remembers of sessions changes nothing that a model is told, and has a limit."""

import gc
import sys
from itertools import count
from types import FunctionType, ModuleType

import msgspec
import pytest

from turnlog.events.rows.record import records, stamped
from turnlog.files import telling
from turnlog.pipeline.context.windows import SessionWindow, Windows
from turnlog.ports import Agent
from turnlog.projections.history.window.fold import Window
from turnlog.simulator import RawBlock, Reply, Text, Thinking, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import made_files
from turnlog.testing import samples as s
from turnlog.testing.apps import scripted_app
from turnlog.tools.tool import tool
from turnlog.transports.access.auth import LOCAL_USER as USER


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
        log = await after(window, position)
        sizes.append(len(log.entries))
        return log

    monkeypatch.setattr(SessionWindow, "_after", counted)
    talk = [*enumerate([[Reply("Yes.")]] * 20)]
    await told([talk])
    assert sizes == [1] + [2] * 19  # the last answer, the new question
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


def test_a_window_that_is_too_large_by_itself_does_not_push_out_the_others():
    small = s.log_of([s.asked("One."), s.said("Two.")])
    windows = Windows(most=20 * Window("a", 0, small).bytes)
    for number in range(20):
        windows.keep(("alice", f"s{number}", "a"), Window("a", 0, small))
    large = Window("a", 0, s.log_of([s.asked("One."), s.said("x" * 200_000)]))
    windows.keep(("alice", "large", "a"), large)
    assert windows.pop(("alice", "large", "a")) is None
    assert all(windows.pop(("alice", f"s{number}", "a")) for number in range(20))


LINES = [{"no": n, "price": n / 7, "text": f"{n} screws"} for n in range(300)]
CITED = {"type": "text", "text": "ab", "citations": [{"type": "char_location", "cited_text": "q",
         "document_index": 0, "start_char_index": 3, "end_char_index": 500}]}  # fmt: skip
FOUND = [{"type": "search_result", "source": "a", "title": "A", "content": [s.text("Yes.")],
          "citations": {"enabled": True}}]  # fmt: skip
# What a turn was about.
HELD = {
    "few words": [s.asked("Hi."), s.said("Ho.")],
    "many small values": [s.asked("Go"), s.said(s.call("c", rows=[[]] * 999), stop="tool_use"),
                          s.used("c", rows=[[]] * 999), s.result("c", [{}] * 999), s.said("So.")],
    "words": [s.asked("Go on."), s.said("x" * 4_000)],
    "words in Russian": [s.asked("ж" * 5_000), s.said("ж" * 5_000 + "😀")],
    "cited words": [s.asked("Go on."), s.said(*[CITED] * 100)],
    "a call with many lines": [s.asked("Go"), s.said(s.call("c", lines=LINES), stop="tool_use"),
                               s.used("c", lines=LINES), s.result("c"), s.said("Done.")],
    "a result of many lines": [s.asked("Go"), s.said(s.call("c"), stop="tool_use"), s.used("c"),
                               s.result("c", LINES)],
    "what was found": [s.asked("Go"), s.said(s.call("c"), stop="tool_use"), s.used("c"),
                       s.result("c", FOUND * 100), s.said("Done.")],
}  # fmt: skip


@pytest.mark.parametrize("turn", HELD.values(), ids=HELD)
@pytest.mark.parametrize("turns", [1, 2, 20])
def test_the_memory_of_a_window_is_counted_for_what_it_holds(turn, turns):
    rows = [row for n in range(turns) for row in records("s", f"t{n}", s.placed(*turn), n, b"")]
    window = Window(s.AGENT.id, 0, [stamped(row) for row in rows])
    assert memory_of(window) < 1.3 * window.bytes  # before it is told, and when
    window.tell("p", {}, frozenset())
    assert 0.3 * window.bytes < memory_of(window) < 1.3 * window.bytes


def memory_of(thing):
    """All that it holds, each once; but for code."""
    seen, left, size = set(), [thing], 0
    while left:
        value = left.pop()
        if id(value) not in seen and not isinstance(value, type | FunctionType | ModuleType):
            seen.add(id(value))
            size += sys.getsizeof(value)
            is_struct = isinstance(value, msgspec.Struct)  # the collector does not look into all
            left += msgspec.structs.astuple(value) if is_struct else gc.get_referents(value)
    return size


@pytest.mark.parametrize("case", ["the prompt changes", "the files are read anew"])
async def test_files_that_are_held_are_counted(case, monkeypatch, tmp_path):
    """Also where the window had to be folded anew."""
    numbers = count()
    agent = Agent("a", prompt=lambda _: f"It is {next(numbers)} o'clock.")
    if case == "the files are read anew":
        agent = Agent("a", prompt="Be kind.")
        monkeypatch.setattr(telling, "MOST_KEPT", 1)
    large = made_files.pdf("Hello.") + b"\n%" + b"a" * 60_000 + b"\n%%EOF"
    (tmp_path / "a.pdf").write_bytes(large)
    async with scripted_app(agents=[agent], model="claude-opus-4-5") as (app, sim):
        sessions = [(await app.create_session(USER)).id for _ in range(2)]
        files = [(await app.files.add(USER, each, tmp_path / "a.pdf")).id for each in sessions]
        for turn in range(3):
            for session, file in zip(sessions, files, strict=True):
                sim.queue(Reply(Thinking("Hm."), Text("Hello.")))
                given = [file] if turn == 0 else []
                result = await app.run_turn("Go", session_id=session, user_id=USER, files=given)
                assert result.success, result.error
        windows = app._turns._live._windows
        held = [m for each, _ in windows._kept.values() for m in each._history._messages]
    sources = [b["source"] for m in held for b in m["content"] if b["type"] == "document"]
    data = sum(len(source["data"]) for source in sources)
    assert (len(sources), data > 120_000) == (2, True)
    assert data < windows._bytes < data + 50_000
