"""`make serve-cluster`: PostgreSQL, Valkey, three nodes and a proxy, to look at.

All of it is on this machine, from the wheels that the tests use, and gone when it ends.
"""

import asyncio
import contextlib
import signal
import sys
import tempfile
from pathlib import Path

from turnlog.simulator import SimulatedClaude
from turnlog.testing.servers.cluster import cluster
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.valkey import Valkey

PORT = 8000


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def serve() -> None:
    stopped = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    with contextlib.ExitStack() as servers:
        postgres, valkey = Postgres(), Valkey()
        for server in (postgres, valkey):
            servers.callback(server.close)
            server.start()
        folder = Path(servers.enter_context(tempfile.TemporaryDirectory(prefix="turnlog-")))
        sim = SimulatedClaude(keep=10)
        async with (
            sim.serve() as claude,
            cluster(folder, claude, database=postgres.url, redis=valkey.url, port=PORT) as nodes,
        ):
            say(f"turnlog  {nodes.url}  (round robin over {len(nodes.nodes)} nodes)")
            for node in nodes.nodes:
                say(f"  node   {node.url}  kill -9 {node.process.pid}")
            say(f"  log    TURNLOG_DATABASE_URL={postgres.url}")
            say(f"  live   {valkey.url}")
            say("Control-C ends all of it.")
            await stopped.wait()


if __name__ == "__main__":
    asyncio.run(serve())
