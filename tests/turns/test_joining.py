"""Who joins a session at any moment, with a store that takes its time, sees what a reload shows."""

import asyncio
import random
from collections import Counter

import pytest
from own_model import OwnModel

from turnlog import Agent, Settings, create_app
from turnlog.events import kinds as k
from turnlog.events.content import TokenUsage
from turnlog.ports import CallStarted
from turnlog.projections.transcript import transcript
from turnlog.stores.memory.store import MemoryStore
from turnlog.transports import wire

USER = "ann"
PIECES = ["It ", "is ", "so."]
TURNS, JOIN_WITHIN = 4, 400  # steps of the loop


class Slow(MemoryStore):
    """It answers some steps of the loop later, as one does that is asked over a wire."""

    def __init__(self, chance):
        super().__init__()
        self._chance = chance


async def some_steps(chance, most=30):
    for _ in range(chance.randrange(most)):
        await asyncio.sleep(0)


def slowly(ask):
    async def answered(self, *args, **more):
        await some_steps(self._chance)
        answer = await ask(self, *args, **more)
        await some_steps(self._chance)
        return answer

    return answered


for name in ("newest_turn", "read", "append", "begin_turn", "get_session"):
    setattr(Slow, name, slowly(getattr(MemoryStore, name)))


class Writing(OwnModel):
    """A Model that writes its answer piece by piece."""

    def __init__(self, chance):
        self._chance = chance
        self._calls = 0

    async def call(self, prompt):
        self._calls += 1
        id = f"msg_{self._calls}"
        yield [CallStarted(message_id=id, model="writing", reported={})]
        for piece in PIECES:
            await some_steps(self._chance)
            yield [k.MessageChunk(message_id=id, content=piece, block_index=0)]
        block = {"type": "text", "text": "".join(PIECES)}
        said = {"message_id": id, "blocks": [block], "model": "writing", "stop_reason": "end_turn"}
        yield [k.Message(**said, token_usage=TokenUsage())]


def shown(entries):
    return [wire.decode(wire.encode(entry)) for entry in entries if not entry.envelope.internal]


@pytest.mark.parametrize("seed", range(10))
async def test_whoever_joins_at_any_moment_sees_what_a_reload_shows(seed):
    chance = random.Random(seed)
    settings, store = Settings(api_key="none", chunk_window=0), Slow(chance)
    app = create_app([Agent("a")], settings=settings, store=store, engine=Writing(chance))
    screens = [[] for _ in range(20)]

    async def join(screen):
        await some_steps(chance, JOIN_WITHIN)
        async for batch in app.follow(USER, session.id, None):
            screen.extend(live.entry for live in batch)

    async with asyncio.timeout(60), app:
        session = await app.create_session(USER)
        joining = [asyncio.create_task(join(screen)) for screen in screens]
        for _ in range(TURNS):
            await app.run_turn("Go", session_id=session.id, user_id=USER)
            await some_steps(chance)
        whole = shown(await store.read(USER, session.id))
        last = transcript(whole)[-1].turn_id

        def has_ended(screen):
            types = [entry.event.type for entry in screen if entry.turn_id in (last, "")]
            return bool({"complete", "resync_required"} & set(types))

        while not all(map(has_ended, screens)):
            await asyncio.sleep(0.001)
        for task in joining:
            task.cancel()
    for screen in map(shown, screens):
        assert max(Counter(event["eventId"] for event in screen).values()) == 1
        if screen[-1]["type"] == "resync_required":  # so it reloads
            continue
        since = next(n for n, event in enumerate(whole) if event["turnId"] == screen[0]["turnId"])
        assert transcript(screen) == transcript(whole[since:])
