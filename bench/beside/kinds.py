"""`python -m bench.beside.kinds [--rounds N] [--write]`: other stores, buses, engines and a team.

The same turns over Socket.IO as in `bench.beside`, on each kind of server, and the ratio to the
floor of the same round. What the servers beside it took is counted apart.
"""

import argparse
import asyncio
import sys
import tempfile
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import aiohttp

from bench.beside import page
from bench.beside.measure import (
    CASES,
    LIMITS,
    Bench,
    Floor,
    Server,
    Sockets,
    Team,
    Values,
    started,
)  # fmt: skip
from bench.scale import processor
from bench.turns import simulator
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.process import free_port
from turnlog.testing.servers.valkey import Valkey


class Kind(NamedTuple):
    """An application of plain.py, and what it runs on."""

    app: str
    client: Sockets
    in_cluster: bool = False


KINDS = {
    "SQLite": Kind("app", Sockets()),
    "PostgreSQL, Valkey": Kind("app", Sockets(), in_cluster=True),
    "LangGraph": Kind("graph", Sockets()),
    "OpenAI Agents": Kind("agents", Sockets()),
    "team of two": Kind("team", Team()),
}
BESIDE = "PostgreSQL and Valkey themselves"


async def measured(rounds: int) -> dict[str, Values]:
    """By kind of server, then by case."""
    values: dict[str, Values] = {name: {} for name in ("floor", *KINDS)}
    async with AsyncExitStack() as stack:
        claude = await stack.enter_async_context(simulator())
        line = aiohttp.TCPConnector(limit=0)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=line))
        postgres, valkey = Postgres(fsync="on"), Valkey()
        for each in (postgres, valkey):
            stack.callback(each.close)
            each.start()
        pids = [each.server.process.pid for each in (postgres, valkey) if each.server.process]
        shared = {"TURNLOG_DATABASE_URL": postgres.url, "TURNLOG_REDIS_URL": valkey.url}
        servers: dict[str, tuple[Server, Floor | Sockets]] = {}
        for name in values:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            kind = KINDS.get(name)
            serving = _serving(kind, folder, claude, shared)
            server = await stack.enter_async_context(serving)
            servers[name] = (server, kind.client if kind else Floor())
        bench = Bench(http, claude)
        for _ in range(rounds + 1):  # the first one warms up
            for case in CASES:
                for name, (server, client) in servers.items():
                    if case.live and isinstance(client, Team):
                        continue  # answers are given in the order in which Claude is asked
                    row = f"{case.name}, {case.unit}"
                    before = sum(map(processor.seconds, pids))
                    values[name].setdefault(row, []).append(
                        (await bench.cost(server, client, case))[0]
                    )
                    if name in KINDS and KINDS[name].in_cluster and not case.live:
                        spent = sum(map(processor.seconds, pids)) - before
                        values[name].setdefault(f"{BESIDE}: {row}", []).append(
                            spent * 1e3 / (case.turns + 1)  # one warms up
                        )
    return {name: {key: each[1:] for key, each in of.items()} for name, of in values.items()}


def _serving(
    kind: Kind | None, folder: Path, claude: str, shared: dict[str, str]
) -> AbstractAsyncContextManager[Server]:
    port = free_port()
    if kind is None:
        return started("bench.beside.floor", str(port), str(folder), claude, port=port)
    where = shared if kind.in_cluster else {"TURNLOG_DATA": str(folder)}
    return started(
        *("turnlog", "serve", "--port", str(port), f"bench.beside.plain:{kind.app}"),
        port=port,
        ANTHROPIC_API_KEY="bench",
        ANTHROPIC_BASE_URL=claude,
        **LIMITS,
        **where,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.beside.kinds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    args = parser.parse_args()
    text = page.table(asyncio.run(measured(args.rounds)))
    sys.stdout.write(f"{text}\n")
    if args.write:
        page.put("kinds", text)


if __name__ == "__main__":
    main()
