"""Golden pages with several agents: whose reply comes next, and who speaks at the same time."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

from turnlog.app import Turnlog
from turnlog.events.handovers import HANDOVER
from turnlog.events.kinds import MessageChunk
from turnlog.projections.transcript import Shown
from turnlog.simulator import Entry, Reply, ToolCall
from turnlog.testing.golden.pages import Page
from turnlog.testing.golden.steps import UserStep
from turnlog.transports.access.auth import LOCAL_USER


def replies(turn: UserStep) -> Iterator[Callable[[dict[str, Any]], Any]]:
    """One entry of the simulator's script for each reply. Whoever asks gets a reply of its own."""
    own: defaultdict[str, deque[Entry]] = defaultdict(deque)
    for speaker, entry in zip(turn.speakers, turn.entries, strict=True):
        own[speaker].append(entry)

    def reply(body: dict[str, Any]) -> Any:
        system = body["system"] if isinstance(body["system"], str) else body["system"][0]["text"]
        return own[system.removeprefix("You are ").removesuffix(".")].popleft()

    return (reply for _ in turn.entries)


@asynccontextmanager
async def stopping(app: Turnlog, session_id: str, text: str | None) -> AsyncIterator[None]:
    """Meanwhile, the user stops the turn once all of this text was shown."""
    if text is None:
        yield
        return

    async def stop() -> None:
        seen = ""
        async for batch in app.follow(LOCAL_USER, session_id, None):
            events = (live.entry.event for live in batch)
            seen += "".join(event.content for event in events if isinstance(event, MessageChunk))
            if seen.endswith(text):
                await app.stop_turn(LOCAL_USER, session_id)
                return

    watching = asyncio.create_task(stop())
    try:
        yield
    finally:
        await asyncio.wait_for(watching, 60)


@asynccontextmanager
async def dying(app: Turnlog, session_id: str, turn: UserStep) -> AsyncIterator[None]:
    """Meanwhile, the server dies in each of the turn's calls that say so."""

    async def die() -> None:
        for began in list(turn.dying.values()):
            await began.wait()
            await lose(app, session_id)

    dying = asyncio.create_task(die())
    try:
        yield
    finally:
        await asyncio.wait_for(dying, 60)


async def lose(app: Turnlog, session_id: str) -> None:
    """What kill -9 and a restart are for the log: the process that worked on the turn can write
    nothing more, and another one goes on with what is on disk."""
    turns = app._turns
    async with turns._claiming:  # or the healer of this process would claim it, too
        (turn,) = await app.store.claim_abandoned(session_id, working_on=())
        dead = turns._live._turns.pop(turn.id)
        dead.stop()
        await dead.over.wait()
        await turns._heal(turn)


def in_order(live: Sequence[Shown], page: Page) -> list[Shown]:
    """What several agents said at the same time, sorted by agent and without numbers.

    How their events fall between each other is different each time; the order of each is not.
    """
    at_once = _at_once(page)
    ordered: list[Shown] = []
    for parallel, events in groupby(live, lambda event: event["agent"]["id"] in at_once):
        if parallel:
            run = sorted(events, key=lambda event: list(page.team).index(event["agent"]["id"]))
            ordered += [{n: v for n, v in e.items() if n != "sequenceNumber"} for e in run]
        else:
            ordered += events
    used = "toolsUsed"  # in the order in which they were asked for
    return [e | {used: sorted(e[used])} if at_once and used in e else e for e in ordered]


def _at_once(page: Page) -> set[str]:
    """Those who are given a task together with others."""
    named: set[str] = set()
    for entry in (entry for turn in page.turns for entry in turn.entries):
        blocks = entry.blocks if isinstance(entry, Reply) else ()
        calls = [block.name for block in blocks if isinstance(block, ToolCall)]
        if len(calls) > 1:
            named |= {n.removeprefix(HANDOVER) for n in calls if n.startswith(HANDOVER)}
    return named
