"""`turnlog sessions`: which sessions there are, for `replay`, `export` and `verify`."""

import argparse

from turnlog.commands.shared import Add, add_data, say, with_store
from turnlog.errors import BadInput
from turnlog.ports import Session, Store

LISTED, MOST = 50, 10_000
WIDEST = 60  # characters of a title


def sessions(args: argparse.Namespace) -> int:
    """List the sessions, newest first: when it began, its id, user, agent and title."""
    if not 1 <= args.limit <= MOST:
        raise BadInput(f"'--limit' must be between 1 and {MOST}.")

    async def run(store: Store) -> int:
        search, limit = args.search, args.limit
        found = await store.audit.sessions(
            user_id=args.user, search=search, limit=limit + 1, after=None
        )
        for session in found[:limit]:
            say(_line(session))
        if len(found) > limit:
            say(f"These are the newest {limit}: --limit shows more, --user and --search fewer.")
        elif not found:
            say("There is no session.")
        return 0

    return with_store(args, run)


def _line(session: Session) -> str:
    from turnlog.transports.http.resources.sessions import UNTITLED

    title = "".join(c if c.isprintable() else "?" for c in session.title or UNTITLED)
    title = title if len(title) <= WIDEST else f"{title[: WIDEST - 1]}…"
    at = session.created_at[:16].replace("T", " ")
    archived = "  (archived)" if session.archived else ""
    return f"{at}  {session.id}  {session.user_id:12}  {session.agent_id:12}  {title}{archived}"


def register(add: Add) -> None:
    parser = add(sessions)
    parser.add_argument("--user", metavar="U", help="default: everybody")
    parser.add_argument("--search", metavar="TEXT", default="", help="a part of the title")
    parser.add_argument("--limit", type=int, default=LISTED, help=f"default: {LISTED}")
    add_data(parser)
