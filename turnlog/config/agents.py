"""[agents.NAME] of turnlog.toml: agents without a line of Python, as far as that goes."""

from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from turnlog.errors import ConfigError

LONGEST_PROMPT = 1_000_000  # bytes of a file


@dataclass(frozen=True, kw_only=True)
class AgentEntry:
    """One table, checked for its names and types. What it names is looked up by the app."""

    id: str
    prompt: str = ""
    prompt_file: str | None = None  # instead: a file beside turnlog.toml
    name: str = ""
    description: str = ""
    model: str | None = None
    tools: tuple[str, ...] = ()  # module:name of a tool, or of a list of tools
    mcp: tuple[str, ...] = ()  # names of [mcp.NAME]
    approval: str | None = None
    approver: str | None = None
    web_search: bool = False
    thinking: bool = True
    hands_over_to: tuple[str, ...] = ()
    budget: dict[str, Any] | None = None
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


def entries(table: Any, folder: Path) -> tuple[AgentEntry, ...]:
    """In their order: the first one answers where a session names none. Raises ConfigError."""
    if not isinstance(table, dict) or not all(isinstance(each, dict) for each in table.values()):
        raise ConfigError("'agents' must be tables: [agents.NAME] with a 'prompt'.")
    return tuple(_entry(name, values, folder) for name, values in table.items())


def _entry(name: str, values: dict[str, Any], folder: Path) -> AgentEntry:
    known = [f.name for f in fields(AgentEntry) if f.name != "id"]
    for unknown in sorted(values.keys() - set(known)):
        nearest = get_close_matches(unknown, known, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        raise ConfigError(f"agents.{name} has an unknown setting: {unknown!r}.{hint}")
    try:
        entry = msgspec.convert(values | {"id": name}, AgentEntry)
    except msgspec.ValidationError as error:
        raise ConfigError(f"agents.{name}: {error}.") from None
    if entry.prompt_file is None:
        return entry
    if entry.prompt:
        raise ConfigError(f"agents.{name}: say 'prompt' or 'prompt_file', not both.")
    return _with_file(entry, folder)


def _with_file(entry: AgentEntry, folder: Path) -> AgentEntry:
    path = folder / str(entry.prompt_file)
    try:
        text = path.read_bytes()[: LONGEST_PROMPT + 1]
        if len(text) > LONGEST_PROMPT:
            raise ConfigError(f"agents.{entry.id}: the file of its prompt is too large.")
        return replace(entry, prompt=text.decode(), prompt_file=None)
    except (OSError, UnicodeDecodeError) as error:
        why = type(error).__name__
        raise ConfigError(
            f"agents.{entry.id}: {entry.prompt_file} cannot be read: {why}."
        ) from None
