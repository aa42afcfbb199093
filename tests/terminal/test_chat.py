"""Talking in the terminal: streaming, approvals, stop, and going on with a session."""

import asyncio
import os
import sys
from queue import Queue

import pytest

from turnlog import Agent, tool
from turnlog.cli import main
from turnlog.client import AsyncClient
from turnlog.commands.chat import Keyboard
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.terminal.chat import Chat, plain
from turnlog.testing.apps import SECRET, client_of, scripted_app

notes = []


@tool(writes=True, describe="Note {text}")
def create_note(text: str) -> str:
    """Write it down."""
    notes.append(text)
    return "noted"


class Person:
    """Types these lines, and sees what is written."""

    def __init__(self, *lines):
        self._lines = list(lines)
        self.screen = ""

    async def read(self, prompt):
        self.screen += prompt
        line = self._lines.pop(0) if self._lines else None
        self.screen += f"{line}\n"
        return line

    def write(self, text):
        self.screen += text


@pytest.fixture(autouse=True)
def no_notes():
    notes.clear()


async def talked(app, *lines, session=None):
    person = Person(*lines)
    async with client_of(app) as http, AsyncClient(str(http.base_url)) as client:
        chat = Chat(client, person.read, person.write)
        code = await chat.run(session)
    return code, person.screen, chat.session_id


def app_of(*replies):
    return scripted_app(*replies, agents=[Agent("writer", tools=[create_note])])


CALL = Reply(ToolCall("create_note", {"text": "milk"}))


async def test_an_answer_is_written_as_it_comes():
    async with app_of(Reply("Hello there."), Reply("Again.")) as (app, _):
        code, screen, session = await talked(app, "Hi", "", "And?", "/quit")
        assert code == 0
        assert "> Hi\nWriter:\nHello there.\n  (" in screen and "tokens, $0.0" in screen
        assert "> And?\nAgain.\n" in screen
        assert screen.endswith(f"Go on with: turnlog chat {session}\n")


@pytest.mark.parametrize("typed", ["/help", "/quti"])
async def test_a_word_with_a_stroke_that_is_no_command_is_not_sent_to_a_model(typed):
    async with app_of(Reply("Never said.")) as (app, sim):
        code, screen, session = await talked(app, typed, "/quit")
        assert code == 0 and session == ""
        assert screen.count("/quit ends.") == 2  # at the beginning, and when it was asked for
        assert sim.requests == []


async def test_a_message_may_begin_with_a_stroke():
    async with app_of(Reply("It is a file.")) as (app, _):
        _, screen, _ = await talked(app, "/etc/hosts", "/quit")
        assert "It is a file." in screen


@pytest.mark.parametrize(("answers", "noted"), [(["y"], ["milk"]), (["what?", "YES"], ["milk"]),
                                               (["n"], []), ([""], [])])  # fmt: skip
async def test_a_person_decides(answers, noted):
    async with app_of(CALL, Reply("Done.")) as (app, _):
        _, screen, _ = await talked(app, "Note milk", *answers)
        assert "? Note milk\n  Allow? [y/N]" in screen and "Done." in screen
        assert notes == noted
        assert ("failed: User rejected" in screen) == (not noted)


async def test_a_session_is_taken_up_with_what_waits_in_it():
    async with app_of(CALL, Reply("Done.")) as (app, _):
        waiting = await app.run_turn("Note milk")
        assert waiting.waiting
        _, screen, session = await talked(app, "y", session=waiting.session_id)
        assert session == waiting.session_id
        assert "> Note milk\n" in screen and "Done." in screen and notes == ["milk"]


async def test_the_end_of_input_at_an_approval_ends_the_talk_and_leaves_it_open():
    async with app_of(CALL, Reply("Done.")) as (app, _), asyncio.timeout(60):
        code, screen, session = await talked(app, "Note milk")
        assert code == 0 and "It stays open until somebody decides.\n" in screen
        assert screen.endswith(f"Go on with: turnlog chat {session}\n")
        code, screen, _ = await talked(app, session=session)  # it waits as a row, and ends again
        assert code == 0 and screen.endswith(f"Go on with: turnlog chat {session}\n")
        assert notes == []
        await talked(app, "y", session=session)
        assert notes == ["milk"]


def test_a_log_that_cannot_be_written_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNLOG_PORT", "9")
    monkeypatch.setenv("TURNLOG_DATA", "")
    (tmp_path / "afile").write_text("")
    assert main(["chat", "--data=afile"]) == 2
    error = capsys.readouterr().err
    assert "chat.log' cannot be written" in error and "--data" in error and "--url" in error


async def test_an_answer_is_stopped():
    go = asyncio.Event()

    @tool(writes=False)
    async def wait() -> str:
        """Waits."""
        started.set()
        await go.wait()
        return ""

    started = asyncio.Event()
    agents = [Agent("a", tools=[wait])]
    async with scripted_app(Reply("I wait.", ToolCall("wait", {})), agents=agents) as (app, _):
        person = Person("Go")
        async with client_of(app) as http, AsyncClient(str(http.base_url)) as client:
            chat = Chat(client, person.read, person.write)
            running = asyncio.create_task(chat.run())
            await started.wait()
            assert chat.stop()
            await running
            assert not chat.stop()
        assert "I wait." in person.screen and "(stopped, " in person.screen


async def test_a_question_is_left_with_a_stop():
    class Hesitant(Person):
        async def read(self, prompt):
            if "Allow" in prompt:
                asked.set()
                await asyncio.Event().wait()  # no line comes any more
            return await super().read(prompt)

    asked = asyncio.Event()
    async with app_of(CALL, Reply("Fine.")) as (app, _):
        person = Hesitant("Note milk", "Hi", "/quit")
        async with client_of(app) as http, AsyncClient(str(http.base_url)) as client:
            chat = Chat(client, person.read, person.write, command="turnlog chat --app a:b")
            running = asyncio.create_task(chat.run())
            await asked.wait()
            assert chat.stop()
            assert await running == 0
        assert "(stopped, " in person.screen and "> Hi\n" in person.screen and notes == []
        assert person.screen.endswith(f"Go on with: turnlog chat --app a:b {chat.session_id}\n")


async def test_a_line_that_nobody_waits_for_any_more_goes_to_the_next_question(monkeypatch):
    typed = Queue()
    monkeypatch.setattr("builtins.input", lambda prompt: typed.get())
    keyboard = Keyboard()
    first = asyncio.create_task(keyboard.read("Allow? "))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    typed.put("Hello")
    assert await keyboard.read("> ") == "Hello"


async def test_errors_are_sentences_and_the_talk_goes_on():
    async with app_of(Reply("Fine.")) as (app, _):
        _, screen, _ = await talked(app, "x" * 300_000, "Hi")
        assert "! " in screen and "Fine." in screen and "Traceback" not in screen


def test_nothing_that_is_said_steers_the_terminal():
    assert plain("a\x1b[2Jb\tc\nd\u202e\r") == "a\\x1b[2Jb\tc\nd\\u202e\\r"


async def run_command(folder, *args, typed=""):
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "turnlog", "chat", *args],
        cwd=folder,
        env={n: v for n, v in os.environ.items() if not n.startswith(("TURNLOG_", "ANTHROPIC_"))},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(typed.encode())
    return process.returncode, out.decode(), err.decode()


@pytest.mark.slow
async def test_the_command_works_without_a_server(tmp_path):
    (tmp_path / "small.py").write_text(
        "from turnlog import Agent, create_app\napp = create_app([Agent('helper')])\n"
    )
    (tmp_path / "turnlog.toml").write_text("port = 9\n")
    code, out, err = await run_command(tmp_path, "--app", "small:app", typed="Hello\n")
    assert (code, err) == (0, "")
    assert out.startswith("This is small:app, without a server. Its log is in ")
    assert "Helper:" in out and "simulat" in out and "tokens" in out
    assert "Go on with: turnlog chat --app small:app " in out
    (tmp_path / "turnlog.toml").write_text('port = 9\napp = "small:app"\n')
    code, out, _ = await run_command(tmp_path)
    assert out.startswith("This is small:app, without a server. Its log is in ")


@pytest.mark.slow
async def test_the_command_talks_to_a_server_that_runs(tmp_path):
    async with app_of(Reply("From the server.")) as (app, _), client_of(app) as http:
        code, out, _ = await run_command(tmp_path, "--url", str(http.base_url), typed="Hi\n")
        assert (code, "From the server." in out) == (0, True)
        store = SqliteStore(tmp_path / "turnlog-data")
        await store.open(server=str(http.base_url))  # on a port that nobody has named
        code, out, _ = await run_command(tmp_path)
        assert out.startswith(f"This is the server at {http.base_url}")
        await store.close()
    code, _, err = await run_command(tmp_path, "--url", "http://127.0.0.1:9")
    assert (code, err) == (2, "turnlog: Nobody answers at http://127.0.0.1:9.\n")


@pytest.mark.slow
async def test_a_server_with_users_asks_for_a_token_file(tmp_path):
    async with scripted_app(auth_secret=SECRET) as (app, _), client_of(app) as http:
        code, _, err = await run_command(tmp_path, "--url", str(http.base_url), typed="Hi\n")
    assert code == 2 and "Name a file that holds a token: --token-file." in err
