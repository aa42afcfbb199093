"""Log lines as text or JSON: with their session and turn, without content.

Text of people, models and tools stays out unless `log_content` is on. A line's template is ours
and is shown; a value in it is shown only if it is a number, an id, or a known name. An exception
is shown by its type and position, never by its text.
"""

import logging
import re
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any, TextIO

import msgspec

from turnlog.events import clock

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
    "the database cannot be written: %s",
    "MCP server %s: %s",
    "MCP server %s, in a call: %s",
    "MCP server %s takes too long; its tools are left out",
    "MCP tool %s of %s is left out: %s",
    "MCP tool %s failed",
    "tool %s: the model set %s; it is not the model's to set",
}
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@contextmanager
def belonging_to(session_id: str, turn_id: str) -> Iterator[None]:
    """Log lines inside, and of tasks and threads started inside, belong to this turn."""
    token = _TURN.set({"session_id": session_id, "turn_id": turn_id})
    try:
        yield
    finally:
        _TURN.reset(token)


@contextmanager
def of_a_tool() -> Iterator[None]:
    """Log lines inside are a tool's own, whatever its logger is called."""
    token = _IN_TOOL.set(True)
    try:
        yield
    finally:
        _IN_TOOL.reset(token)


def set_up(
    form: str,
    level: str,
    *,
    content: bool,
    to: TextIO | None = None,
    tools: Collection[str] = (),
    development: bool = False,
) -> logging.Handler:
    """Send every log line of this process to one stream; other packages' from `warning` on.

    `tools` are the modules of tools. Their lines, and what a tool logs under any other name while
    it runs, are shown as ours are. In development, when nobody else is here, they are shown with
    all that they say.
    """
    # No line of ours says where in the code it was written, or by which thread.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # "Avoid calling sys._getframe(), which may help to speed up your code": Python's logging HOWTO
    logging._srcfile = None
    handler = _Lines(to or sys.stderr, FORMS[form](content), tools, development)
    logging.getLogger().handlers[:] = [handler]
    least = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger().setLevel(min(max(least, logging.INFO), logging.WARNING))
    for name in ("turnlog", *tools):
        if name == "turnlog" or logging.getLogger(name).level == logging.NOTSET:
            logging.getLogger(name).setLevel(level.upper())
    return handler


class _Lines(logging.StreamHandler[TextIO]):
    """One line a record. What needs no hook has none: every turn writes a few lines."""

    def __init__(
        self, to: TextIO, form: logging.Formatter, modules: Collection[str], development: bool
    ) -> None:
        super().__init__(to)
        self._form = form
        self._modules = frozenset(modules)
        self._development = development

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.stream.write(f"{self._form.format(record)}\n")
            self.stream.flush()
        except Exception:
            self.handleError(record)

    def filter(self, record: logging.LogRecord) -> bool:
        """Drops what other packages say below `warning`, and marks the lines that may be shown
        with content: those of tools, and of what they raised."""
        package, prefixes = _prefixes(record.name)
        of_tools = not prefixes.isdisjoint(self._modules) or (
            _IN_TOOL.get() and not _installed(package)
        )
        raised = getattr(record, "own", False)
        record.shown_in_full = self._development and (raised or of_tools)
        ours = package == "turnlog"
        return ours or of_tools or record.levelno >= logging.WARNING


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
        return msgspec.json.encode(_facts(record, self._content), enc_hook=str).decode()


class Text(logging.Formatter):
    """For people: time, level, message, then the rest as name=value."""

    def __init__(self, content: bool) -> None:
        super().__init__()
        self._content = content

    def format(self, record: logging.LogRecord) -> str:
        facts = _facts(record, self._content)
        message = facts.pop("message").replace("\n", "\\n")  # a value cannot fake a line
        head = f"{facts.pop('time')} {facts.pop('level'):7} {message}"
        trace = facts.pop("trace", ())
        rest = "".join([f" {name}={value}" for name, value in facts.items()])
        return "\n    ".join([head + rest, *trace])


FORMS: dict[str, type[Json] | type[Text]] = {"json": Json, "text": Text}


def _facts(record: logging.LogRecord, content: bool) -> dict[str, Any]:
    content = content or getattr(record, "shown_in_full", False)
    created = clock.text(int(record.created * 1000))
    facts: dict[str, Any] = {
        "time": created,
        "level": record.levelname.lower(),
        "message": _message(record, content),
        "logger": record.name,
        **(_TURN.get() or {}),
        **getattr(record, "facts", {}),
    }
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        facts["error"] = type(error).__name__
        facts["trace"] = _with_text(error) if content else _positions(error)
    return facts


def _message(record: logging.LogRecord, content: bool) -> str:
    if content:
        return record.getMessage()
    if isinstance(record.msg, BaseException) and not isinstance(record.msg, OSError):
        return type(
            record.msg
        ).__name__  # an OSError keeps its text, such as "address already in use"
    template = str(record.msg)
    if record.name.partition(".")[0] != "turnlog":  # what follows is a repr of anything
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
