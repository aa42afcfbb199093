"""What billing costs: tracking and pricing in a turn, and a user's bill among many users'."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
from msgspec.structs import replace

from bench.parts import AGENT, Say, head, line
from turnlog.app import create_app
from turnlog.config import Settings
from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import Attributed
from turnlog.events.clock import now
from turnlog.events.content import usage_of
from turnlog.events.ids import new_id, new_message_id
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Session, Store, Turn
from turnlog.prices import PriceBook
from turnlog.projections.billing.charges import usage_rows
from turnlog.simulator.listener import listen
from turnlog.stores.sqlite.store import SqliteStore

USERS, MESSAGES = 100, 100  # of each
REPORTED = {
    "input_tokens": 800,
    "cache_creation_input_tokens": 1200,
    "cache_read_input_tokens": 24_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 1200, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 60,
    "output_tokens_details": {"thinking_tokens": 20},
    "service_tier": "standard",
}


async def billing(say: Say, folder: Path, rounds: int) -> None:
    say(head("Billing", "ms", "target"))
    tracked = median([_tracking(2000) for _ in range(rounds)]) * 1e3
    say(line("tokens and price of a call, all of it (CPU)", f"{tracked:.3f}", "0.1"))
    store = SqliteStore(folder)
    app = create_app(settings=Settings(data=str(folder)), store=store)
    async with app:
        for number in range(USERS):
            await _filled(store, f"user-{number}")
        async with listen(app, "127.0.0.1", 0) as url, aiohttp.ClientSession(url) as http:
            took = [await _asked(http, f"user-{n}") for n in range(0, USERS, 2)]
    name = f"a user's bill over HTTP, {USERS * MESSAGES:,} messages of {USERS} users"
    say(line(name, f"{median(took) * 1e3:.2f}", "20"))
    say(line("the slowest of these", f"{max(took) * 1e3:.2f}", ""))


def _tracking(times: int) -> float:
    """Seconds of CPU that a call costs beyond its events: counts, prices, the rows of `usage`."""
    book, message = PriceBook(), _message()
    book.rate(message.model, REPORTED, now())  # the first one reads the table

    def once() -> None:
        costs = book.rate(message.model, REPORTED, "2026-11-16T12:00:00.000Z")
        usage = usage_of(REPORTED)
        priced = replace(message, costs=costs, cost_usd=money.total(costs), token_usage=usage)
        list(usage_rows(priced, {"session_id": "s"}, "a"))

    return _cpu(once, times)


def _cpu(work: Callable[[], Any], times: int) -> float:
    begun = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - begun) / times


async def _asked(http: aiohttp.ClientSession, user: str) -> float:
    begun = time.perf_counter()
    async with http.get(f"/api/billing/user/{user}", params={"startDate": "2026-01-01"}) as answer:
        bill = await answer.json()
        assert sum(day["calls"] for day in bill["by_day"]) == MESSAGES
    return time.perf_counter() - begun


async def _filled(store: Store, user: str) -> None:
    session = Session(id=new_id(), user_id=user, title="", agent_id="a", created_at=now())
    await store.create_session(session)
    turn = Turn(id=new_id(), session_id=session.id, user_id=user, state="running",
                first_seq=0, started_at=now())  # fmt: skip
    state = TurnState(turn, AGENT)
    messages = [Attributed(_message(), AGENT, False, True) for _ in range(MESSAGES)]
    placed = place(messages, state)
    days = [f"2026-{n % 10 + 1:02}-{n % 28 + 1:02}T12:00:00.000Z" for n in range(MESSAGES)]
    await store.begin_turn(turn, [replace(p, time=at) for p, at in zip(placed, days, strict=True)])


def _message() -> k.Message:
    costs = PriceBook().rate("claude-sonnet-5-5", REPORTED, now())
    return k.Message(
        message_id=new_message_id(),
        blocks=[{"type": "text", "text": "It was delivered on Tuesday."}],
        stop_reason="end_turn",
        model="claude-sonnet-5-5",
        token_usage=usage_of(REPORTED),
        reported=REPORTED,
        costs=costs,
        cost_usd=money.total(costs),
    )
