"""The steps of a golden page's script: what users, tools and people do."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from turnlog.simulator import Entry, ToolCall


@dataclass
class ToolStep:
    """What a tool does when it is called: return, fail, crash, or not exist."""

    verb: str
    value: Any = None


@dataclass
class PersonStep:
    """What a person does while the turn waits for one."""

    verb: str  # approves | rejects | edits | waits | stops
    tool_id: str = ""
    value: Any = None


@dataclass
class UserStep:
    """One turn: what the user asks, what the model says, what tools and people do."""

    text: str
    thinking: bool = False
    searching: bool = False  # the session may search the web from here on
    entries: list[Entry] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)  # of these entries, in a team
    tools: dict[str, ToolStep] = field(default_factory=dict)  # by tool_use_id
    calls: dict[str, ToolCall] = field(default_factory=dict)
    callers: dict[str, str] = field(default_factory=dict)  # by tool_use_id, in a team
    dying: dict[str, asyncio.Event] = field(default_factory=dict)  # calls in which the server dies
    stopped_in: str | None = None  # the text in the middle of which the user stops it
    people: list[PersonStep] = field(default_factory=list)
    setting: dict[str, Any] | None = None  # of the session's thinking, changed before it
    attached: list[str] = field(default_factory=list)  # names of files
    file_ids: list[str] = field(default_factory=list)  # the same, when they are uploaded
    deleted: list[str] = field(default_factory=list)  # names of files, before it
    refused: str | None = None  # the code of the error that the question ends in
