"""What an agent hears of the others. Its own words are the assistant's; theirs are notes.

What another agent says, does and is handed comes as text in the user's place, with that agent's
name before it. An agent does not hear the thoughts and the routing of others. It also hears
nothing from agents that work on its own tasks: their answers are the results of its calls.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.handovers import HANDOVER

MOST_OF_A_NOTE = 2_000  # characters of a call or of its result


Tasks = dict[str, str]  # open calls of the speaker's: who works on which


def heard_by(
    speaker: str | None, log: Sequence[Stamped], tasks: Tasks
) -> Iterator[tuple[Stamped, str | None]]:
    """The events, each with the note that the speaker hears; None where the event is its own.

    `tasks` are those that were open before, and then those that are open after these events.
    """
    for entry in log:
        author, event = entry.envelope.agent.id, entry.envelope.event
        if speaker in (None, author) or type(event) in _OF_THE_USER:
            match event:
                case k.ToolUse(tool_use_id=call, tool_name=name) if name.startswith(HANDOVER):
                    tasks[call] = name.removeprefix(HANDOVER)
                case k.ToolResult(tool_use_id=call):
                    tasks.pop(call, None)
            yield entry, None
        elif author not in tasks.values() and (note := _note(entry, str(speaker))):
            yield entry, note


_OF_THE_USER = (k.UserMessageSent, k.ToolSettled, k.HistoryAnchored, k.HistoryRepaired)


def _note(entry: Stamped, speaker: str) -> str | None:
    name, shown = entry.envelope.agent.name, not entry.envelope.internal
    match entry.event:
        case k.Message(content=text) if text.strip():
            return f"[{name} said:] {text}"
        case k.ToolUse(tool_name=tool, args=args) if tool == f"{HANDOVER}{speaker}":
            task = args.get("reason")
            return f"[{name} hands over to you{f': {task}' if task else '.'}]"
        case k.ToolUse(tool_name=tool, args=args) if shown:
            return f"[{name} called {tool} with {_short(args)}]"
        case k.ToolResult(tool_name=tool, success=True, result=value) if shown:
            return f"[{tool} returned {_short(value)}]"
        case k.ToolResult(tool_name=tool, error=why) if shown:
            return f"[{tool} failed: {'' if why is UNSET else why}]"
    return None


def _short(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= MOST_OF_A_NOTE else f"{text[:MOST_OF_A_NOTE]} …"
