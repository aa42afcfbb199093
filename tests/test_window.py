"""The window that the model is told, moved when it was too long; the container to go back to."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.pipeline.admission import Limits
from turnlog.pipeline.context_building import build_context
from turnlog.ports import Agent, Question
from turnlog.projections.history.messages import moved_anchor, open_container
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.tools.runner import ToolRunner

NEXT = [s.asked("And now?")]


def too_long():
    return replace(s.broke(), code="context_exceeded")


def talk(turns):
    return [[s.asked("Tell me."), s.said("So it was. " * 50)] for _ in range(turns)]


def test_what_was_too_long_for_the_model_is_told_shorter():
    log = s.log_of(*talk(10), [s.asked(), too_long()], NEXT)
    anchor = moved_anchor(log)
    assert anchor and log[0].position < anchor <= log[-1].position
    assert isinstance(log[anchor].event, k.UserMessageSent)


def test_an_answer_that_filled_the_window_moves_the_anchor_too():
    full = s.said("And", stop="model_context_window_exceeded")
    assert moved_anchor(s.log_of(*talk(5), [s.asked(), full], NEXT)) is not None


def test_the_anchor_moves_once_for_one_failure():
    turn = [*NEXT, k.HistoryAnchored(anchor=10), s.said("Ok.")]
    assert moved_anchor(s.log_of(*talk(5), [s.asked(), too_long()], turn, NEXT)) is None


def test_another_failure_moves_nothing():
    assert moved_anchor(s.log_of(*talk(5), [s.asked(), s.broke()], NEXT)) is None


def test_what_is_too_long_by_itself_cannot_be_told_shorter():
    assert moved_anchor(s.log_of(NEXT), too_long=True) is None
    assert moved_anchor(s.log_of(*talk(1), NEXT), too_long=True) == 2


# containers

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def worked(id, expires):
    return replace(s.said("Ran."), details={"container": {"id": id, "expires_at": expires}})


def test_the_newest_container_is_gone_back_to_until_it_expires():
    old, new = worked("old", "2026-11-16T13:00:00Z"), worked("new", "2026-11-16T12:30:00.5Z")
    log = s.log_of([s.asked(), old], [s.asked(), new], NEXT)
    assert open_container(log, NOON) == "new"
    assert open_container(log, NOON.replace(hour=14)) is None


@pytest.mark.parametrize("container", [None, "word", {}, {"id": "c"}, {"id": "c", "expires_at": 5}])
def test_a_container_that_is_no_proper_one_is_not_gone_back_to(container):
    message = replace(s.said("Ran."), details={"container": container})
    assert open_container(s.log_of([s.asked(), message], NEXT), NOON) is None


# stage 1


async def built(log, **more):
    store = MemoryStore()
    await s.keep(store, *log)
    session = await store.get_session("alice", "s")
    agent, limits = Agent("assistant"), Limits(model="claude-sonnet-5-5")
    tools = ToolRunner([], lambda _: None)
    question = Question(message="And now?")
    seat, _ = await build_context(
        agent, {agent.id: agent}, question, session, tools, store, limits, system="", **more
    )
    return seat


async def test_a_context_that_was_too_long_is_built_shorter_on_demand():
    whole = await built([*talk(5), [*NEXT, s.said("Ok.")]])
    assert (len(whole.prompt.messages), whole.records) == (12, [])
    shorter = await built([*talk(5), [*NEXT, s.said("Ok.")]], shorter=True)
    (move,) = shorter.records
    assert move.anchor > 0
    assert 0 < len(shorter.prompt.messages) < len(whole.prompt.messages)


async def test_what_is_told_in_mid_turn_is_not_made_shorter():
    """The anchor would move past what the model has just answered."""
    seat = await built([*talk(5), [*NEXT, s.said("Ok.")]], shorter=True, mid_turn=True)
    assert (len(seat.prompt.messages), seat.records) == (12, [])
