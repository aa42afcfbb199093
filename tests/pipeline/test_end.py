"""What is said in the log of how a turn ended."""

import asyncio
import logging

import pytest

from turnlog.errors import TimedOut
from turnlog.pipeline.ending import ShuttingDown, Withdrawn
from turnlog.pipeline.turn import end
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Turn
from turnlog.testing import samples as s

STOPS = [None, asyncio.CancelledError(), Withdrawn(), ShuttingDown(), TimedOut("Too long.")]


async def said(caplog, failure):
    """The log of a turn that is over when this stops its work."""
    state = TurnState(Turn(id="t", session_id="s", user_id="ann"), s.AGENT)
    state.is_over = True
    with caplog.at_level(logging.INFO):
        assert await end(state, failure, parts=None)
    return [(record.levelname, record.getMessage()) for record in caplog.records]


@pytest.mark.parametrize("failure", STOPS, ids=repr)
async def test_a_stop_that_comes_after_the_end_is_no_failure(caplog, failure):
    assert await said(caplog, failure) == []


async def test_what_fails_after_the_end_is_told_to_the_operator(caplog):
    failure = RuntimeError("a tool's last words")
    assert await said(caplog, failure) == [("ERROR", "turn t failed after its end")]
