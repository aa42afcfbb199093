"""`turnlog chat`: talk in the terminal, to a server that runs, or to the app in this process."""

import argparse
import asyncio
import getpass
import os
import shlex
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from turnlog.commands.shared import (
    SESSIONS_ARE_LISTED,
    Add,
    add_data,
    load_app,
    server_of,
    settings_of,
)
from turnlog.config import Settings
from turnlog.errors import ConfigError

ANSWERS_WITHIN = 10.0  # seconds: a server that is busy is there all the same


def chat(args: argparse.Namespace) -> int:
    """Talk in the terminal: streaming, approvals, stop."""
    if args.data is not None:
        os.environ["TURNLOG_DATA"] = args.data
    return asyncio.run(_talk(args, settings_of(args, whole=True)))


async def _talk(args: argparse.Namespace, settings: Settings) -> int:
    from turnlog.client import AsyncClient, ServerError
    from turnlog.terminal.chat import Chat

    token = _token(args, settings)
    async with _server(args, settings) as url, AsyncClient(url, token=token) as client:
        talk = Chat(client, Keyboard().read, _write, args.agent, command=_command(args))
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
            talk.end()
            return 130
        except ServerError as error:
            if error.status == 401:
                why = f"The server at {url} does not let you in: {error}"
                raise ConfigError(f"{why} Name a file that holds a token: --token-file.") from error
            where = f" {SESSIONS_ARE_LISTED}" if args.session and error.status == 404 else ""
            raise ConfigError(f"{error}{where}") from error
        finally:
            with suppress(NotImplementedError, ValueError):
                loop.remove_signal_handler(signal.SIGINT)


@asynccontextmanager
async def _server(args: argparse.Namespace, settings: Settings) -> AsyncIterator[str]:
    """The server that is named, or that works in this folder; else the app, in this process."""
    named = args.url or server_of(settings)
    app_name = args.app or settings.app
    # A folder with an app of its own is not served by whoever has the port.
    url = named or (settings.address if app_name is None else None)
    if url is not None and await _answers(url):
        _write(f"This is the server at {url}.\n")
        yield url
        return
    if args.url is not None:
        raise ConfigError(f"Nobody answers at {args.url}.")
    if named is not None:
        raise ConfigError(
            f"A server works in this folder and does not answer at {named}. Try again in a"
            " moment; else look at its log, stop it, or name another server with --url."
        )
    from turnlog.simulator.listener import listen

    app = await asyncio.to_thread(load_app, args.app)
    log = _log_to_file(app)
    async with listen(app, "127.0.0.1", 0) as here:
        app.address = here  # a second chat in this folder finds this one
        async with app:
            _write(f"This is {app_name or 'the demo'}, without a server.{log}\n")
            yield here


def _log_to_file(app: Any) -> str:
    """Log lines would stand between those of the talk. Says where they are."""
    from turnlog.telemetry import logs

    settings = app.settings
    file = Path(settings.data) / "chat.log"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        to = os.fdopen(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "a")
    except OSError as error:
        raise ConfigError(
            f"{str(file)!r} cannot be written: {error.strerror}. Name a folder that you may write"
            " to with --data, or a server that runs with --url."
        ) from None
    logs.set_up(
        settings.log_format,
        settings.log_level,
        content=settings.log_content,
        to=to,
        tools=app.tools.modules,
        development=settings.tells_errors,
    )
    return f" Its log is in {file}."


async def _answers(url: str) -> bool:
    """Whether a turnlog listens there."""
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=ANSWERS_WITHIN, trust_env=False) as http:
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


class Keyboard:
    """Lines that a person types, read in a thread that nobody waits for when the program ends."""

    def __init__(self) -> None:
        self._line: asyncio.Future[str | None] | None = None

    async def read(self, prompt: str) -> str | None:
        """The next line. Who gives up leaves the line to whoever reads next."""
        if self._line is None:
            self._line = self._reading(prompt)
        else:
            _write(prompt)
        line = await asyncio.shield(self._line)
        self._line = None
        return line

    def _reading(self, prompt: str) -> "asyncio.Future[str | None]":
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
        return answer


def _command(args: argparse.Namespace) -> str:
    """What goes on here, without the session: the same place, app and user."""
    given = {"--url": args.url, "--app": args.app, "--data": args.data, "--user": args.user}
    given["--token-file"] = args.token_file
    words = [word for flag, value in given.items() if value for word in (flag, value)]
    return shlex.join(["turnlog", "chat", *words])


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def register(add: Add) -> None:
    parser = add(chat)
    parser.add_argument("session", nargs="?", metavar="SESSION", help="default: a new one")
    parser.add_argument("--url", help="a server; default: the one that runs here, or none at all")
    parser.add_argument(
        "--app",
        metavar="MODULE:APP",
        help="without a server; default: the setting 'app', else the demo",
    )
    parser.add_argument("--agent", metavar="ID", help="who answers in a new session")
    parser.add_argument("--user", help="with TURNLOG_AUTH_SECRET; default: who is logged in")
    parser.add_argument("--token-file", metavar="FILE", help="a file with a bearer token")
    add_data(parser)
