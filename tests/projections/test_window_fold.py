"""A window that goes on from what is known gives the same, byte for byte, as one folded anew."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event
from turnlog.events.handovers import HANDOVER
from turnlog.events.rows.erasure import what_is_left
from turnlog.events.rows.record import ERASED, NO_SEAL, records
from turnlog.pipeline.context.windows import SessionWindow, Windows
from turnlog.ports import Excerpt
from turnlog.projections.history.clean import mended
from turnlog.projections.history.fold import tell
from turnlog.projections.history.messages import add
from turnlog.projections.history.window.fold import Window
from turnlog.projections.history.window.size import Room, Size
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s

ERP = AgentRef(id="erp", name="ERP")
AGENTS = (s.AGENT, ERP)
NOON, ROOM = datetime(2026, 11, 15, 12, tzinfo=UTC), Room(most=200, kept=60, last=900)
IMAGE = {"id": "f", "name": "a.png", "mediaType": "image/png", "size": 9, "sha256": "x"}
DETAILS = {"dimensions": {"width": 2000, "height": 2000}, "modelSize": 10_000_000}
CONTAINER = {"container": {"id": "box", "expires_at": "2026-11-15T13:00:00Z"}}
FOUND = [{"type": "search_result", "source": "a", "title": "A", "content": [s.text("Yes.")],
          "citations": {"enabled": True}}]  # fmt: skip
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
PAGES = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
words = st.sampled_from(["Yes.", "No, it is not.", "", " ", "x" * 300])


@st.composite
def answers(draw, *blocks, stop="end_turn"):
    said = [thought] * draw(st.integers(0, 1)) + [s.text(draw(words))]
    said += draw(st.sampled_from([[], [], [], [SEARCH, PAGES], [SEARCH], [PAGES]]))
    message = s.said(*said, *blocks, stop=stop)
    tokens = draw(st.sampled_from([0, 100, 250, 1_000]))
    details = draw(st.sampled_from([{}, {}, CONTAINER]))
    prefix = draw(st.sampled_from(["p", "q"]))
    return replace(message, reported={"input_tokens": tokens}, details=details, prefix=prefix)


@st.composite
def steps(draw, n):
    """An answer with calls, what they are, and their results; by one agent or by two."""
    id = draw(st.sampled_from([f"toolu_{n}", f"toolu_{n}", "toolu_again"]))
    name = draw(st.sampled_from(["look", "look", f"{HANDOVER}erp"]))
    agent = draw(st.sampled_from(AGENTS))
    calls = draw(answers(s.call(id, name), stop="tool_use"))
    result = s.result(id, draw(st.sampled_from(["seen", "", FOUND, {"a": 1}])), name)
    yours = [(ERP, draw(answers()))] if name != "look" else []
    broken = s.failed(id, "it broke", name)
    ends = draw(st.sampled_from([[result], [result], [broken], [result, result], []]))
    mine = [(agent, each) for each in ends]
    order = [*yours, *mine] if draw(st.booleans()) else [*mine, *yours]
    return [(agent, calls), (agent, s.used(id, name)), *order]


@st.composite
def turns(draw, n):
    question = s.asked(draw(words.filter(str.strip)))
    if draw(st.integers(0, 3)) == 0:
        question = replace(question, files=[IMAGE], file_details=[DETAILS])
    events = [(s.AGENT, question)]
    for step in range(draw(st.integers(0, 2))):
        events += draw(steps(f"{n}_{step}"))
    reason = draw(st.sampled_from(["end_turn", "end_turn", "refusal", "max_tokens"]))
    cut = [s.call(f"toolu_{n}_cut")] if reason == "max_tokens" else []
    ending = (draw(st.sampled_from(AGENTS)), draw(answers(*cut, stop=reason)))
    failed = (s.AGENT, replace(s.broke(), code=draw(st.sampled_from(["x", "context_exceeded"]))))
    events += draw(st.sampled_from([[ending], [ending], [failed], [ending, failed], []]))
    return events


settled = k.ToolSettled(tool_use_id="a", tool_name="look", happened=True, decided_by="alice")
failing = k.SummaryFailed(code="x", error="x", lost=False, tokens=90, messages=3)
rules = ("text-is-not-blank", "blocks-are-known")
repairs = [k.HistoryRepaired(repairs=[{"rule": rule, "place": "messages.1"}]) for rule in rules]
remarks = st.sampled_from([None] * 6 + [settled, failing, *repairs, "moves", "is erased"])
ask = st.tuples(
    st.sampled_from(AGENTS), st.sampled_from("ppq"), st.sampled_from([10**9] * 6 + [0, 20_000])
)
talks = st.lists(
    st.tuples(st.integers(0, 99).flatmap(turns), remarks, st.lists(ask, max_size=3)), max_size=7
)


def excerpt(log, after):
    before = log[after].envelope.event_id if after >= 0 else ""
    return Excerpt(log[after + 1 :], before=before)


class Log(MemoryStore):
    """A log that grows, of which content is destroyed."""

    def __init__(self, session):
        super().__init__()
        self._sessions[session.id], self._log[session.id] = session, []
        self.rows = self._log[session.id]

    def append(self, turn, agent, event):
        self.rows += records("s", turn, s.placed(event, agent=agent), len(self.rows), NO_SEAL)

    def erase(self, number):
        self.rows[number] = self.rows[number]._replace(body=ERASED, salt=ERASED)

    def since(self, anchor):
        return what_is_left(self.rows[anchor:])


def facts(window, prefix, files, open_calls):
    """All that a prompt is made of; None where the window has to be folded anew."""
    weights = {each.message_id: 700 for each in window.plan("claude-sonnet-5-5")}
    telling = window.tell(prefix, files, open_calls)
    if telling is None:
        return None
    going_on = [*telling.messages]
    add(going_on, "assistant", [s.call("toolu_next"), s.call("toolu_again")])
    add(going_on, "user", [{"type": "tool_result", "tool_use_id": "toolu_next", "content": "a"}])
    size = window.measure.size(weights)
    told = [telling, mended(going_on, clean=window.clean), window.plan("claude-haiku-4-5")]
    return msgspec.json.encode(told), *(
        (size, window.measure.was_too_long, window.measure.is_too_soon(size, ROOM, weights)),
        (window.tool_ids, window.mended_in_full, window.opening, window.open_container(NOON)),
        (window.newly_repaired(telling.repaired), window.position),
    )


def blocks_of(log, is_deleted):
    """The files of the log, by the message; one that is deleted is told as that."""
    told = [s.text("[deleted]")] if is_deleted else [BLOCK]
    return {e.event.message_id: told for e in log.since(0) if getattr(e.event, "files", None)}


BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}


@pytest.mark.slow  # a hundred conversations
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(talks, st.data())
def test_whatever_comes_the_window_is_the_one_that_is_folded_anew(talks, data):
    """Tools, thoughts, files, hand-overs, refusals, repairs, moves, erasures, restarts, nodes."""
    session, windows = s.new_session(), Windows()
    log = Log(session)
    for n, (turn, remark, asks) in enumerate(talks):
        if remark == "moves" and log.rows:
            starts = [e.position for e in log.since(0) if isinstance(e.event, k.UserMessageSent)]
            session = replace(session, anchor=data.draw(st.sampled_from(starts)))
            remark = k.HistoryAnchored(anchor=session.anchor, summary="Earlier.")
        if remark == "is erased" and log.rows:
            log.erase(data.draw(st.integers(0, len(log.rows) - 1)))
        log.append(f"t{n}", *turn[0])
        if isinstance(remark, Event):  # of an earlier turn, or of this one
            log.append(f"t{data.draw(st.integers(0, n))}", s.AGENT, remark)
        for agent, prefix, most in asks:
            open_calls = data.draw(st.sampled_from([set(), set(), {"toolu_again"}]))
            is_deleted = data.draw(st.booleans())
            how = (agent.id, prefix, open_calls, is_deleted)
            asyncio.run(compare(log, windows, session, *how))
            if most < 10**9:  # another node has the session now, or little memory is left
                windows = Windows(most)
        for agent, event in turn[1:]:
            log.append(f"t{n}", agent, event)


async def compare(log, windows, session, agent, prefix, open_calls, is_deleted):
    known, files = SessionWindow(windows, log, session, agent), blocks_of(log, is_deleted)
    window = await known.take()
    grown = facts(window, prefix, files, open_calls)
    if grown is None:
        window = await known.take(anew=True)
        grown = facts(window, prefix, files, open_calls)
    part = log.since(session.anchor)
    assert grown == facts(Window(agent, session.anchor, part), prefix, files, open_calls)
    plain = tell(part, agent, prefix=prefix, files=files, to_be_answered=open_calls)
    assert msgspec.json.encode(plain.messages) in grown[0]
    known.keep(window)


def test_a_window_goes_on_only_where_the_log_is_the_one_it_knows():
    talk = [[s.asked("One."), s.said("Two.")], [s.asked("Three.")]]
    log, other = s.log_of(*talk), s.log_of(*talk)
    assert not Window("assistant", 0, log[:2]).grow(excerpt(other, 1))  # the same text, others
    assert not Window("assistant", 0, log).grow(Excerpt([]))  # less than was known
    assert not Window("assistant", 0, log[:1]).grow(excerpt(log, 1))  # one in between is missing
    erased = replace(excerpt(log, 1), emptied=1)
    assert not Window("assistant", 0, log[:2]).grow(erased)
    moved = s.log_of(talk[0], [s.asked("Three."), k.HistoryAnchored(anchor=2)])
    assert not Window("assistant", 0, moved[:3]).grow(excerpt(moved, 2))
    assert Window("assistant", 0, log[:2]).grow(excerpt(log, 1))


def test_a_prompt_that_changes_matters_only_where_there_are_thoughts():
    talk = [[s.asked("One."), s.said("Two.")], [s.asked("Three.")]]
    window = Window("assistant", 0, s.log_of(*talk))
    assert window.tell("p", {}, frozenset()) == window.tell("q", {}, frozenset())
    talk[0][1] = s.said(thought, "Two.")
    window = Window("assistant", 0, s.log_of(*talk))
    assert window.tell("p", {}, frozenset()) and window.tell("q", {}, frozenset()) is None


def test_a_new_turn_is_all_that_is_folded(monkeypatch):
    looked_at, length = [], 300
    log = s.log_of(*[[s.asked(f"{n}?"), s.said(f"{n}.")] for n in range(length)])
    window = Window("assistant", 0, log[:1])
    window.tell("p", {}, frozenset())
    for at in range(2, 2 * length, 2):
        assert window.grow(excerpt(log[: at + 1], at - 2))
        window._history._tell_turn = counted(window._history, looked_at)
        assert len(window.tell("p", {}, frozenset()).messages) == at + 1
    assert (len(looked_at), max(looked_at)) == (2 * (length - 1), 2)  # the last turn, and the new
    assert window.measure.size() == Size(window.measure.size().tokens, 2 * length - 1)


def counted(history, looked_at):
    def tell_turn(*args, **how):
        looked_at.append(len(history._turn.entries))
        return type(history)._tell_turn(history, *args, **how)

    return tell_turn
