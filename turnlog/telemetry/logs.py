"""Log lines as text or JSON: with their session and turn, without content.

Text of people, models and tools stays out unless `log_content` is on. A line's template is ours
and is shown; a value in it is shown only if it is a number, an id, or a known name. An exception
is shown by its type and position, never by its text.
"""

import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import cache, lru_cache
from typing import Any, TextIO

import msgspec

from turnlog.events import clock
from turnlog.telemetry.later import Later

_TURN: ContextVar[dict[str, str] | None] = ContextVar("turnlog_turn", default=None)
_IN_TOOL: ContextVar[bool] = ContextVar("turnlog_in_tool", default=False)
WITHHELD = "[withheld]"
# Templates whose values are ours or the operator's: codes, methods, paths, names of tools.
NAMES_ONLY = {
    "asking again in %.1f s: %s",
    "tool %s failed",
    "%s: the model sets '%s', which looks as if it said who acts. To have it filled by the"
    ' server, say %s = "user" in %s; if it is for the model, say "model".',
    "tool %s returned what cannot become JSON",
    "webhook %s: %s was not taken (%s)",
    "tools of %s: %s: %s, asks %s: %s",
    "tool %s: nobody can allow it, because there is one user",
    "%s %s failed",
    "No keys from %s, %d known ones stay: %s",
    "A token was refused: %s",
    "the database cannot be written: %s",
    "MCP server %s: %s",
    "MCP server %s, in a call: %s",
    "MCP server %s takes too long; its tools are left out",
    "MCP server %s wrote a line that is too long: it is stopped",
    "MCP tool %s of %s is left out: %s",
    "MCP tool %s failed",
    "guardrail %s failed",
    "tool %s: the model set %s; it is not the model's to set",
}
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def context_of(session_id: str, turn_id: str) -> Context:
    """Log lines of tasks that run in this context belong to this turn."""
    context = copy_context()
    context.run(_TURN.set, {"session_id": session_id, "turn_id": turn_id})
    return context


@contextmanager
def belonging_to(session_id: str, turn_id: str) -> Iterator[None]:
    """Log lines inside, and of tasks and threads started inside, belong to this turn."""
    token = _TURN.set({"session_id": session_id, "turn_id": turn_id})
    try:
        yield
    finally:
        _TURN.reset(token)


class OfTool:
    """Log lines inside are a tool's own, whatever its logger is called."""

    def __enter__(self) -> None:
        self._token = _IN_TOOL.set(True)

    def __exit__(self, *exc: object) -> None:
        _IN_TOOL.reset(self._token)


def set_up(
    form: str,
    level: str,
    *,
    content: bool,
    to: TextIO | None = None,
    tools: Collection[str] = (),
    development: bool = False,
    at_once: bool = True,
) -> logging.Handler:
    """Send every log line of this process to one stream; other packages' from `warning` on.

    `tools` are the modules of tools. Their lines, and what a tool logs under any other name while
    it runs, are shown as ours are. In development, when nobody else is here, they are shown with
    all that they say. If not `at_once`, plain lines wait for others for a moment (see `later`).
    """
    # No line of ours says where in the code it was written, or by which thread.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # "Avoid calling sys._getframe(), which may help to speed up your code": Python's logging HOWTO
    logging._srcfile = None
    if logging.getLogRecordFactory() is logging.LogRecord:  # and none of an app's own
        logging.setLogRecordFactory(_Record)
    handler = _Lines(
        to or sys.stderr, FORMS[form](content), tools, development=development, at_once=at_once
    )
    logging.getLogger().handlers[:] = [handler]
    least = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger().setLevel(min(max(least, logging.INFO), logging.WARNING))
    for name in ("turnlog", *tools):
        if name == "turnlog" or logging.getLogger(name).level == logging.NOTSET:
            logging.getLogger(name).setLevel(level.upper())
    return handler


class _Record(logging.LogRecord):
    """A record that does not look for its place in the code: `set_up` has told nobody to note it.

    All that a handler may read of a record is there.
    """

    def __init__(
        self,
        name: str,
        level: int,
        pathname: str,
        lineno: int,
        msg: object,
        args: Any,
        exc_info: Any,
        func: str | None = None,
        sinfo: str | None = None,
    ) -> None:
        if args and len(args) == 1 and isinstance(args[0], Mapping) and args[0]:
            args = args[0]  # as `logging` does it
        self.name, self.msg, self.args = name, msg, args
        self.levelno, self.levelname = level, logging.getLevelName(level)
        self.pathname = pathname
        self.filename, self.module = _file_of(pathname)
        self.lineno, self.funcName = lineno, func  # type: ignore[assignment]  # as `logging` does
        self.exc_info, self.exc_text, self.stack_info = exc_info, None, sinfo
        self.created = time.time()
        self.msecs = float(int(self.created % 1 * 1000))  # whole, and a float: as in `logging`
        self.relativeCreated = (self.created - _STARTED) * 1000
        self.thread = self.threadName = self.process = self.processName = self.taskName = None


_STARTED = time.time()


@lru_cache(maxsize=100)
def _file_of(path: str) -> tuple[str, str]:
    """Its name, and its name as a module's. Nearly always `logging` says that it is unknown."""
    return os.path.basename(path), os.path.splitext(os.path.basename(path))[0]


class _Lines(logging.StreamHandler[TextIO]):
    """One line a record. What needs no hook has none: every turn writes a few lines."""

    def __init__(
        self,
        to: TextIO,
        form: logging.Formatter,
        modules: Collection[str],
        *,
        development: bool,
        at_once: bool,
    ) -> None:
        super().__init__(to)
        self._form = form
        self._modules = frozenset(modules)
        self._development = development
        self._at_once = at_once
        self._later = Later(self._write)

    def handle(self, record: logging.LogRecord) -> bool:
        if not self.filter(record):
            return False
        if self._at_once or not _may_wait(record):
            self._later.now(record)
        else:
            self._later.add(record)
        return True

    def flush(self) -> None:
        self._later.now()

    def _write(self, records: Sequence[logging.LogRecord]) -> None:
        lines = []
        for record in records:
            try:
                lines.append(f"{self._form.format(record)}\n")
            except Exception:
                self.handleError(record)
        try:
            self.stream.write("".join(lines))
            self.stream.flush()
        except Exception:
            self.handleError(records[-1])

    def filter(self, record: logging.LogRecord) -> bool:
        """Drops what other packages say below `warning`. Marks the lines that may be shown with
        content, those of tools and of what they raised; and each with its turn."""
        package, prefixes = _prefixes(record.name)
        of_tools = bool(prefixes & self._modules) or (not _installed(package) and _IN_TOOL.get())
        in_full = self._development and (of_tools or getattr(record, "own", False))
        record.shown_in_full = in_full  # a formatter may be somebody else's handler's, too
        record.of_turn = _TURN.get()  # it may be written in another context
        ours = package == "turnlog"
        return ours or of_tools or record.levelno >= logging.WARNING


def _may_wait(record: logging.LogRecord) -> bool:
    """Whether it says the same whenever it is made, and nobody has to look at it now."""
    is_plain = record.levelno <= logging.INFO and not record.args and not record.exc_info
    return is_plain and _prefixes(record.name)[0] == "turnlog"


@lru_cache(maxsize=1000)
def _prefixes(name: str) -> tuple[str, frozenset[str]]:
    """Of a logger's name: its package, and the names of all modules that it is in."""
    parts = name.split(".")
    return parts[0], frozenset(".".join(parts[: n + 1]) for n in range(len(parts)))


@cache
def _installed(name: str) -> bool:
    """Whether a logger of this name is a package's of Python or of somebody else."""
    if name in sys.stdlib_module_names or name == "turnlog":
        return True
    place = getattr(sys.modules.get(name), "__file__", None) or ""
    return "site-packages" in place or "dist-packages" in place


class Json(logging.Formatter):
    """One JSON object per line."""

    def __init__(self, content: bool) -> None:
        super().__init__()
        self._content = content

    def format(self, record: logging.LogRecord) -> str:
        content = self._content or getattr(record, "shown_in_full", False)
        head = {
            "time": clock.text(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "message": _message(record, content),
        }
        facts = head | _facts(record)
        if trace := _trace(record, content):
            facts["trace"] = trace
        return msgspec.json.encode(facts, enc_hook=str).decode()


class Text(logging.Formatter):
    """For people: time, level, message, then the rest as name=value."""

    def __init__(self, content: bool) -> None:
        super().__init__()
        self._content = content

    def format(self, record: logging.LogRecord) -> str:
        content = self._content or getattr(record, "shown_in_full", False)
        created = clock.text(int(record.created * 1000))
        rest = "".join([f" {name}={value}" for name, value in _facts(record).items()])
        line = f"{created} {record.levelname.lower():7} {_message(record, content)}{rest}"
        if not record.exc_info:
            return line if line.isprintable() else _escaped(line)
        return "\n    ".join([_escaped(each) for each in (line, *_trace(record, content))])


FORMS: dict[str, type[Json] | type[Text]] = {"json": Json, "text": Text}


def _escaped(line: str) -> str:
    """No value fakes a line, or moves the cursor of who reads it."""
    if line.isprintable():
        return line
    return "".join([c if c.isprintable() else ascii(c)[1:-1] for c in line])


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    """What a line says beside its message."""
    own = getattr(record, "facts", {})
    turn = getattr(record, "of_turn", _TURN.get())
    facts: dict[str, Any] = {"logger": record.name, **(turn or {}), **own}
    if record.exc_info and record.exc_info[1] is not None:
        facts["error"] = type(record.exc_info[1]).__name__
    return facts


def _trace(record: logging.LogRecord, content: bool) -> list[str]:
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return []
    return _with_text(error) if content else _positions(error)


def _message(record: logging.LogRecord, content: bool) -> str:
    ours = _prefixes(record.name)[0] == "turnlog"
    if ours and type(record.msg) is str and not record.args:  # as nearly all are
        return record.msg
    if content:
        return record.getMessage()
    if isinstance(record.msg, BaseException) and not isinstance(record.msg, OSError):
        return type(
            record.msg
        ).__name__  # an OSError keeps its text, such as "address already in use"
    template = str(record.msg)
    if not ours:  # what follows is a repr of anything
        template = template.strip().partition("\n")[0]
    try:
        return template % _safe(record.args, template) if record.args else template
    except (TypeError, ValueError):  # the template needs more than a placeholder
        return template


def _safe(args: Any, template: str) -> Any:
    if isinstance(args, Mapping):
        return {name: _shown(value, template) for name, value in args.items()}
    return tuple(_shown(value, template) for value in args)


def _shown(value: object, template: str) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, BaseException):
        return type(value).__name__
    known = isinstance(value, str) and (template in NAMES_ONLY or _ID.fullmatch(value))
    return value if known else WITHHELD


def _positions(error: BaseException) -> list[str]:
    """The positions of an error and of its causes, the innermost last, without its text."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = _positions(cause) if cause is not None else []
    frames = traceback.extract_tb(error.__traceback__)
    here = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
    return [*before, *here, type(error).__name__]


def _with_text(error: BaseException) -> list[str]:
    return "".join(traceback.format_exception(error)).splitlines()
