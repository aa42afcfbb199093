"""`turnlog chat`: talk in the terminal, to a server that runs, or to the app in this process."""

import argparse
import asyncio
import getpass
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from turnlog.commands.shared import Add, add_data, load_app, settings_of
from turnlog.config import Settings
from turnlog.errors import ConfigError


def chat(args: argparse.Namespace) -> int:
    """Talk in the terminal: streaming, approvals, stop."""
    if args.data is not None:
        os.environ["TURNLOG_DATA"] = args.data
    return asyncio.run(_talk(args, settings_of(args)))


async def _talk(args: argparse.Namespace, settings: Settings) -> int:
    from turnlog.client import AsyncClient, ServerError
    from turnlog.terminal.chat import Chat

    token = _token(args, settings)
    async with _server(args, settings) as url, AsyncClient(url, token=token) as client:
        talk = Chat(client, _read, _write, args.agent)
        running = asyncio.create_task(talk.run(args.session))

        def interrupt() -> None:
            if not talk.stop():
                running.cancel()

        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, ValueError):  # not in the main thread
            loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            return await running
        except asyncio.CancelledError:
            _write("\n")
            return 130
        except ServerError as error:
            raise ConfigError(str(error)) from error
        finally:
            with suppress(NotImplementedError, ValueError):
                loop.remove_signal_handler(signal.SIGINT)


@asynccontextmanager
async def _server(args: argparse.Namespace, settings: Settings) -> AsyncIterator[str]:
    """The server that is named, or that runs here; else the app, in this process."""
    url = args.url or settings.address
    if await _answers(url):
        yield url
        return
    if args.url is not None:
        raise ConfigError(f"Nobody answers at {args.url}.")
    from turnlog.simulator.listener import listen

    app = await asyncio.to_thread(load_app, args.app)
    async with app, listen(app, "127.0.0.1", 0) as here:
        yield here


async def _answers(url: str) -> bool:
    """Whether a turnlog listens there."""
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=2, trust_env=False) as http:
            response = await http.get(f"{url}/healthz")
            return bool(response.json() == {"status": "ok"})
    except (httpx2.HTTPError, ValueError):
        return False


def _token(args: argparse.Namespace, settings: Settings) -> str | None:
    """From a file, or minted with our own secret; a token on the command line is everybody's."""
    if args.token_file is not None:
        try:
            return Path(args.token_file).read_text().strip()
        except OSError as error:
            raise ConfigError(f"{args.token_file!r} cannot be read: {error.strerror}.") from None
    if settings.auth_secret is None:
        return None
    from turnlog.tokens import mint

    return mint(settings.auth_secret, args.user or getpass.getuser(), days=1)


async def _read(prompt: str) -> str | None:
    """A line, from a thread that nobody waits for when the program ends."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()

    def settle(line: str | None) -> None:
        if not answer.done():
            answer.set_result(line)

    def read() -> None:
        try:
            line: str | None = input(prompt)
        except (EOFError, KeyboardInterrupt):
            line = None
        with suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(settle, line)

    threading.Thread(target=read, daemon=True).start()
    return await answer


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def register(add: Add) -> None:
    parser = add(chat)
    parser.add_argument("session", nargs="?", metavar="SESSION", help="default: a new one")
    parser.add_argument("--url", help="a server; default: the one that runs here, or none at all")
    parser.add_argument("--app", metavar="MODULE:APP", help="without a server; default: the demo")
    parser.add_argument("--agent", metavar="ID", help="who answers in a new session")
    parser.add_argument("--user", help="with TURNLOG_AUTH_SECRET; default: who is logged in")
    parser.add_argument("--token-file", metavar="FILE", help="a file with a bearer token")
    add_data(parser)
