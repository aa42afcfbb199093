"""What a chunk costs on each engine: CPU time of the server, Claude in another process.

A turn of 2N chunks minus one of N leaves what a chunk costs; the smallest of some rounds counts,
because whatever else the machine does only adds. `execution` is the engine alone: the same
batches, from a model in memory, without a network, a store or anybody who watches.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import aiohttp

from bench.parts import Say, head, line
from bench.turns import simulator
from turnlog.app import Turnlog, create_app
from turnlog.config import Settings
from turnlog.engines.langgraph.engine import LangGraphEngine
from turnlog.events import kinds as k
from turnlog.events.content import TokenUsage
from turnlog.pipeline.execution import execute
from turnlog.ports import Agent, Ask, CallOutput, CallStarted, Engine, Model, Prompt, Seat
from turnlog.simulator import Reply, to_json
from turnlog.stores.memory.store import MemoryStore
from turnlog.tools.runner import ToolRunner

ENGINES = ("claude", "langgraph")
CHUNKS, ROUNDS, CHARACTERS = 4000, 5, 12


async def measure(say: Say) -> None:
    say(head("CPU time of a chunk", "execution", "whole turn"))
    alone = {name: await _best(_Alone(name)) for name in ENGINES}
    async with simulator() as claude, aiohttp.ClientSession(claude) as http:
        whole = {name: await _best(_Whole(name, claude, http)) for name in ENGINES}
    for name in ENGINES:
        say(line(name, f"{alone[name]:.1f} µs", f"{whole[name]:.1f} µs"))
    ratios = [f"{times['langgraph'] / times['claude']:.2f} ×" for times in (alone, whole)]
    say(line("langgraph to claude", *ratios))


async def _best(run: "_Alone | _Whole") -> float:
    """Microseconds of a chunk."""
    async with aclosing(run.rounds()) as rounds:
        return min([each async for each in rounds])


class _Alone:
    """The engine without a server."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def rounds(self) -> AsyncGenerator[float, None]:
        await self._seconds(10)
        for _ in range(ROUNDS):
            short, long = await self._seconds(CHUNKS), await self._seconds(2 * CHUNKS)
            yield (long - short) / CHUNKS * 1e6

    async def _seconds(self, chunks: int) -> float:
        model = _Spoken(chunks)
        answerer: Model | Engine = model if self._name == "claude" else LangGraphEngine(model)
        began = time.process_time()
        async with aclosing(execute(Ask(speaker="a", team=_One()), answerer)) as batches:
            count = sum([len(batch.outputs) async for batch in batches])
        assert count > chunks
        return time.process_time() - began


class _Whole:
    """A turn of the server, from the provider's bytes to the log."""

    def __init__(self, name: str, claude: str, http: aiohttp.ClientSession) -> None:
        self._name, self._claude, self._http = name, claude, http

    async def rounds(self) -> AsyncGenerator[float, None]:
        settings = Settings(api_key="bench", base_url=self._claude)
        store = MemoryStore()
        app = create_app([Agent("a")], settings=settings, store=store, engine=self._name)
        async with app:
            await self._seconds(app, 10)
            for _ in range(ROUNDS):
                short, long = await self._seconds(app, CHUNKS), await self._seconds(app, 2 * CHUNKS)
                yield (long - short) / CHUNKS * 1e6

    async def _seconds(self, app: Turnlog, chunks: int) -> float:
        reply = Reply("x" * CHARACTERS * chunks, chunk=CHARACTERS)
        entries = {"entries": [to_json(reply)]}
        async with self._http.post("/sim/script", json=entries) as answer:
            answer.raise_for_status()
        began = time.process_time()
        result = await app.run_turn("Go on.")
        assert len(result.text) == CHARACTERS * chunks
        await asyncio.sleep(0)
        return time.process_time() - began


class _Spoken:
    """A model that says so many chunks at once."""

    def __init__(self, chunks: int) -> None:
        self._chunks = chunks

    async def call(self, prompt: Prompt) -> AsyncGenerator[Sequence[CallOutput], None]:
        yield [CallStarted(message_id="m", model="m", reported={})]
        chunk = k.MessageChunk(message_id="m", content="x", block_index=0)
        for _ in range(self._chunks):
            yield [chunk]
        usage = TokenUsage()
        yield [
            k.Message(
                message_id="m", blocks=[], stop_reason="end_turn", model="m", token_usage=usage
            )
        ]

    async def count(self, prompt: Prompt) -> int:
        return 1

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class _One:
    """A team of one."""

    agents = {"a": Agent("a")}

    async def seat(self, agent_id: str, *, shorter: bool = False) -> Seat:
        tools = ToolRunner([], lambda _: None)  # type: ignore[arg-type,return-value]  # nobody calls a tool
        asked = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
        prompt = Prompt(model="m", system="", messages=[asked], max_tokens=100)
        return Seat(agent=self.agents["a"], prompt=prompt, tools=tools)
