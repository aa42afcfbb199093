"""Chunks that come within a blink go out as one; the first at once, and the order stays."""

import pytest
from test_live import reload, types

from turnlog.events.base import AgentRef
from turnlog.ports import Batch
from turnlog.simulator import Reply, Text, Thinking, ToolCall
from turnlog.testing import invariants
from turnlog.testing import samples as s
from turnlog.testing.apps import STREAM, events, served
from turnlog.testing.shown_turns import chunk, thought
from turnlog.ticks import EARLY, next_tick
from turnlog.turns.answers.pace import LATER, Pacer

WINDOW = 0.05


class Clock:
    """A loop that only has a clock, which the test moves."""

    def __init__(self):
        self.due = []
        self.now = 0.0

    def time(self):
        return self.now

    def call_at(self, when, callback):
        self.due.append((when, callback))
        return self

    def cancel(self):
        self.due.clear()

    def tick(self, windows=1.0):
        self.now += windows * WINDOW
        due, self.due = self.due, []
        for when, callback in due:
            assert when <= self.now + EARLY + LATER
            callback()

    def goes_to(self, when):
        """What is due by then comes first."""
        self.now = when
        due = [callback for at, callback in self.due if at <= when]
        self.due = [(at, callback) for at, callback in self.due if at > when]
        for callback in due:
            callback()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()  # instead of waiting for a real one
    monkeypatch.setattr("turnlog.turns.answers.pace.asyncio.get_running_loop", lambda: clock)
    return clock


def paced():
    out = []
    return Pacer(lambda said: out.append(list(said.outputs)), WINDOW), out


def test_the_first_chunk_goes_out_at_once_and_the_next_ones_together(clock):
    pacer, out = paced()
    for text in "abc":
        pacer.add(Batch([chunk(text)]))
    assert out == [[chunk("a")]]
    clock.tick()
    assert out[1:] == [[chunk("bc")]]


def test_a_window_in_which_nothing_came_closes(clock):
    pacer, out = paced()
    pacer.add(Batch([chunk("a")]))
    clock.tick()
    assert (clock.due, len(out)) == ([], 1)
    pacer.add(Batch([chunk("b")]))
    assert out[1:] == [[chunk("b")]]


def test_a_model_that_is_read_at_this_pace_is_never_held_up(clock):
    pacer, out = paced()
    clock.now = 0.3 * WINDOW
    for text in "abcd":
        pacer.add(Batch([chunk(text)]))
        clock.now = next_tick(clock.now, WINDOW) - EARLY / 2  # its timer may be a little early
    assert ("".join(batch[0].content for batch in out), clock.due) == ("abcd", [])


def test_after_a_late_tick_such_a_model_is_not_a_window_behind_for_good(clock):
    pacer, out = paced()
    clock.now = 0.2 * WINDOW
    pacer.add(Batch([chunk("a")]))  # the first piece, at once
    clock.now = 0.8 * WINDOW
    pacer.add(Batch([chunk("b")]))  # of a tick that was due when this window began
    for text in "cde":
        clock.goes_to(next_tick(clock.now, WINDOW))
        pacer.add(Batch([chunk(text)]))
    said = [[c.content for c in batch] for batch in out]
    assert (said, clock.due) == ([["a"], ["bc"], ["d"], ["e"]], [])


def test_windows_begin_for_all_sessions_at_the_same_moment(clock):
    (one, _), (two, _) = paced(), paced()
    for pacer, came in (one, 0.3), (two, 0.6):
        clock.now = came * WINDOW
        for text in "ab":
            pacer.add(Batch([chunk(text)]))
    assert [when for when, _ in clock.due] == [WINDOW + LATER] * 2


def test_without_a_window_each_chunk_goes_out_at_once(clock):
    out = []
    pacer = Pacer(lambda said: out.append(list(said.outputs)), 0)
    for text in "ab":
        pacer.add(Batch([chunk(text)]))
    assert out == [[chunk("a")], [chunk("b")]]


def test_while_chunks_come_each_window_opens_the_next(clock):
    pacer, out = paced()
    for text in "abcdef":
        pacer.add(Batch([chunk(text)]))
        pacer.add(Batch([chunk(text)]))
        clock.tick()
    assert len(out) == 7
    assert "".join(c.content for batch in out for c in batch) == "aabbccddeeff"


def test_what_is_held_goes_out_before_whatever_else_comes(clock):
    pacer, out = paced()
    for text in "ab":
        pacer.add(Batch([chunk(text)]))
    pacer.flush()
    assert (out, clock.due) == ([[chunk("a")], [chunk("b")]], [])


def test_only_chunks_wait(clock):
    pacer, _ = paced()
    assert pacer.takes(Batch([chunk("a"), thought("b")]))
    assert pacer.takes(Batch([chunk("a")], agent=s.AGENT))
    assert not pacer.takes(Batch([chunk("a"), s.said("a")]))


def test_what_two_write_at_the_same_time_is_held_for_each(clock):
    out = []
    pacer = Pacer(out.append, WINDOW)
    one, two = (AgentRef(id=name, name=name) for name in ("one", "two"))
    for text in "abc":
        pacer.add(Batch([chunk(text)], one, "1"))
        pacer.add(Batch([chunk(text.upper())], two, "2"))
    clock.tick()
    words = [(said.agent.id, said.call, [o.content for o in said.outputs]) for said in out]
    assert words[0] == ("one", "1", ["a"])
    assert words[1:] == [("two", "2", ["ABC"]), ("one", "1", ["bc"])]


async def test_pacing_keeps_the_order_and_every_character():
    thinking = Reply(Thinking("Hm. " * 200), Text("Let me see. " * 200), ToolCall("wait"), chunk=3)
    async with served(thinking, Reply("Well. " * 200, chunk=3)) as server:
        server.go.set()
        session = await server.session()
        live = events(await server.ask(session, headers=STREAM, enableThinking=True))
        assert invariants.broken(live, (await reload(server, session))["events"]) == []
        rest = [kind for kind in types(live) if not kind.endswith("_chunk")]
        assert rest[1:3] == ["thinking_start", "thinking_complete"]
        assert rest[-4:] == ["tool_use", "tool_result", "message", "complete"]
