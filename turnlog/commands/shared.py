"""What every command needs: a way to say things, and a store that is opened and closed."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from turnlog.config import load
from turnlog.errors import NotFound
from turnlog.events.base import Stamped
from turnlog.ports import Store

Work = Callable[[argparse.Namespace], int]
Add = Callable[[Work], argparse.ArgumentParser]  # makes a command of a function


def say(line: str, to: Any = None) -> None:
    (to or sys.stdout).write(line + "\n")
    (to or sys.stdout).flush()


def with_store(
    args: argparse.Namespace, work: Callable[[Store], Awaitable[int]], make: bool = False
) -> int:
    from turnlog.stores.sqlite.store import SqliteStore

    folder = Path(load(data=args.data).data)
    if not make and not (folder / "turnlog.db").exists():
        raise NotFound(f"There is no turnlog database in {str(folder)!r}. Name its --data folder.")

    async def run() -> int:
        store = SqliteStore(folder)
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


async def log_of(store: Store, session_id: str) -> list[Stamped]:
    from turnlog.events.record import stamped

    return [stamped(row) for row in (await store.evidence(session_id)).log]


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", help="default: ./turnlog-data")
