"""`turnlog webhooks`: what was sent, what waits, and send again."""

import argparse
import asyncio

from turnlog.commands.shared import (
    Add,
    add_data,
    count,
    say,
    server_of,
    settings_of,
    with_store,
)
from turnlog.errors import ConfigError, NotFound
from turnlog.ports import Notice, Store

LISTED = 50


def webhooks(args: argparse.Namespace) -> int:
    """List the notices of webhooks, newest first; or send some again."""
    if args.new_secret:
        from turnlog.webhooks.signature import new_secret

        say(new_secret())
        return 0
    return _replay(args) if args.replay else with_store(args, lambda store: _list(store, args))


async def _list(store: Store, args: argparse.Namespace) -> int:
    if args.limit < 1:
        raise ConfigError("'--limit' must be 1 or more.")
    page = await store.outbox.page(status=args.status, limit=args.limit)
    for notice in page:
        say(_line(notice))
    waiting = [notice for notice in page if notice.status == "waiting"]
    wait = "waits" if len(waiting) == 1 else "wait"
    say(f"{count(len(page), 'notice')}, {len(waiting)} {wait}")
    return 0


def _line(notice: Notice) -> str:
    told = f"{notice.created_at}  {notice.endpoint}  {notice.type:18}  {notice.id}"
    tries = f"{notice.status} after {notice.tries}" if notice.tries else notice.status
    last = f" ({notice.outcome})" if notice.outcome else ""
    due = f", next {notice.due_at}" if notice.status == "waiting" else ""
    return f"{told}  {tries}{last}{due}"


def _replay(args: argparse.Namespace) -> int:
    """In the database, where no server works; a server sends them when it starts."""
    from turnlog.events.clock import now
    from turnlog.stores.urls import open_store

    settings = settings_of(args)
    if (address := server_of(settings)) is not None:
        raise ConfigError(f"The server sends them: POST {address}/api/webhooks/replay as an admin.")

    async def run() -> int:
        one = None if args.replay == "failed" else args.replay
        status = "failed" if one is None else None
        async with open_store(settings.store_url, server="turnlog webhooks") as store:
            again = await store.outbox.replay(now(), id=one, status=status)
        if one is not None and not again:
            raise NotFound(f"There is no notice {one!r} to be sent again.")
        say(f"{again} will be sent when the server starts")
        return 0

    return asyncio.run(run())


def register(add: Add) -> None:
    parser = add(webhooks)
    parser.add_argument("--status", choices=["waiting", "delivered", "failed"])
    parser.add_argument("--limit", type=int, default=LISTED)
    about = "send this one again, or all that have failed; while a server runs, ask it instead"
    parser.add_argument("--replay", metavar="ID|failed", help=about)
    parser.add_argument("--new-secret", action="store_true", help="print a secret for an endpoint")
    add_data(parser)
