"""What one user may ask for, how long a turn may take, and waiting in line."""

import asyncio

import anthropic  # noqa: F401, imported here so that it does not count as the turn's time
import pytest

from turnlog.errors import BadInput, Busy, TooMany
from turnlog.events import kinds as k
from turnlog.ports import Question
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, Stall
from turnlog.testing import made_files as made
from turnlog.testing.apps import scripted_app
from turnlog.turns.questions.limits import UserLimits

STUCK = Reply("one two three", chunk=4, ending=Stall(6, 600))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_turns_at_once_are_limited_for_each_user():
    limits = UserLimits(2, 100)
    limits.start("ann")
    limits.start("ann")
    limits.start("bob")
    with pytest.raises(TooMany):
        limits.start("ann")
    limits.end("ann")
    limits.start("ann")


def test_messages_a_minute_are_limited_and_the_wait_is_told():
    clock = Clock()
    limits = UserLimits(100, 2, clock)
    limits.start("ann")
    clock.now += 20
    limits.start("ann")
    with pytest.raises(TooMany) as refused:
        limits.start("ann")
    assert refused.value.retry_after == 41
    clock.now += 41
    limits.start("ann")


def test_nothing_is_remembered_of_a_user_who_is_quiet():
    clock = Clock()
    limits = UserLimits(2, 2, clock)
    limits.start("ann")
    clock.now += 61
    limits.end("ann")
    assert not limits._running and not limits._sent


async def test_a_turn_that_takes_too_long_is_ended_with_what_it_has():
    for seconds in (0.2, 20.0):  # the first is too short where the machine stands still for it
        async with scripted_app(STUCK, turn_timeout=seconds, grace=0.0) as (app, _):
            result = await app.run_turn("Go")
            before, error = [entry.event for entry in result.events][-2:]
            assert (
                error.code == "timed_out" and prove(await app.store.evidence(result.session_id)).ok
            )
        if isinstance(before, k.Message):
            break
    assert before.content and before.stop_reason == "interrupted"


async def test_questions_that_wait_in_line_are_answered_in_order():
    answers = [Reply(f"Answer {n}.", delay=0.002) for n in range(4)]
    async with scripted_app(*answers) as (app, _):
        session = await app.create_session("ann")
        first = await app.start_turn("ann", session.id, Question(message="0"))
        waiting = [
            asyncio.create_task(
                app.start_turn("ann", session.id, Question(message=str(n), on_busy="enqueue"))
            )
            for n in (1, 2, 3)
        ]
        with pytest.raises(Busy):
            await app.start_turn("ann", session.id, Question(message="no"))
        for turn in [first, *[await each for each in waiting]]:
            await app._turns.rest(turn.turn_id)
        log = await app.store.read("ann", session.id)
        asked = [entry.event.content for entry in log if isinstance(entry.event, k.UserMessageSent)]
        assert asked == ["0", "1", "2", "3"]
        assert prove(await app.store.evidence(session.id)).ok


async def test_a_refused_question_leaves_nothing_behind():
    async with scripted_app(STUCK, turns_at_once=1, grace=0.0) as (app, _):
        session, other = await app.create_session("ann"), await app.create_session("ann")
        await app.start_turn("ann", session.id, Question(message="Go"))
        with pytest.raises(TooMany):
            await app.start_turn("ann", other.id, Question(message="Go"))
        assert await app.store.read("ann", other.id) == []


async def test_messages_that_are_refused_or_repeated_are_not_counted():
    async with scripted_app(STUCK, Reply("Yes."), messages_a_minute=2, grace=0.0) as (app, _):
        session, other = await app.create_session("ann"), await app.create_session("ann")
        first = Question(message="Go", request_id="r")
        turn = await app.start_turn("ann", session.id, first)
        for _ in range(3):
            assert (await app.start_turn("ann", session.id, first)).turn_id == turn.turn_id
            with pytest.raises(Busy):
                await app.start_turn("ann", session.id, Question(message="And?"))
            with pytest.raises(BadInput):
                await app.start_turn("ann", session.id, Question(message=" "))
        await app.start_turn("ann", other.id, Question(message="Go"))
        with pytest.raises(TooMany):
            await app.start_turn("ann", other.id, Question(message="Go"))


async def test_messages_with_files_that_are_refused_or_repeated_are_not_counted(tmp_path):
    (tmp_path / "photo.png").write_bytes(made.picture())
    async with scripted_app(STUCK, vision_a_minute=2, grace=0.0) as (app, _):
        session = await app.create_session("ann")
        files = [(await app.files.add("ann", session.id, tmp_path / "photo.png")).id]
        first = Question(message="Go", request_id="r", file_ids=files)
        turn = await app.start_turn("ann", session.id, first)
        for _ in range(3):
            assert (await app.start_turn("ann", session.id, first)).turn_id == turn.turn_id
            with pytest.raises(Busy):
                await app.start_turn("ann", session.id, Question(message="And?", file_ids=files))
