"""Which event may follow which: the legal order of one turn, as a table.

It holds for what is streamed and for what is kept, because the kept events are the
streamed ones with the transient ones left out. Internal events and the internal record of
an agent change are not on the screen and not in the table.
"""

from collections.abc import Iterable
from enum import Enum, auto

from turnlog.events import kinds as k
from turnlog.events.base import Event


class State(Enum):
    START = auto()
    ASKED = auto()  # the model is to speak
    THINKING = auto()
    WRITING = auto()
    KEEPING = auto()  # the call is over, its events are being kept
    ANSWERED = auto()
    TOOLS = auto()
    OVER = auto()


_SPEAKING: dict[type[Event], State] = {
    k.ThinkingStart: State.THINKING,
    k.MessageChunk: State.WRITING,
    k.CitationsFound: State.KEEPING,
    k.Thinking: State.KEEPING,
    k.Message: State.ANSWERED,
    k.Error: State.OVER,
}

# fmt: off
NEXT: dict[State, dict[type[Event], State]] = {
    State.START:    {k.UserMessageSent: State.ASKED},
    State.ASKED:    _SPEAKING | {k.AgentChanged: State.ASKED, k.Complete: State.OVER},
    State.THINKING: {k.ThinkingChunk: State.THINKING, k.ThinkingComplete: State.WRITING,
                     k.Thinking: State.KEEPING, k.Message: State.ANSWERED, k.Error: State.OVER},
    State.WRITING:  _SPEAKING,
    State.KEEPING:  {k.Thinking: State.KEEPING, k.Message: State.ANSWERED},
    State.ANSWERED: _SPEAKING | {k.AgentChanged: State.ANSWERED, k.ToolUse: State.TOOLS,
                                 k.Complete: State.OVER},
    State.TOOLS:    _SPEAKING | {k.AgentChanged: State.TOOLS, k.ToolUse: State.TOOLS,
                                 k.ApprovalRequested: State.TOOLS, k.ApprovalResolved: State.TOOLS,
                                 k.ToolResult: State.TOOLS, k.Complete: State.OVER},
    State.OVER:     {},
}
# fmt: on

GOES_ON = ("tool_use", "pause_turn")  # stop reasons after which the model speaks again

_INTERNAL = {kind for kind in k.KINDS.values() if kind.internal}
OUTSIDE_A_TURN: frozenset[type[Event]] = frozenset({k.SessionStart, k.ResyncRequired, *_INTERNAL})


def broken_rule(turn: Iterable[type[Event]]) -> str | None:
    """The first event of the turn that may not stand where it stands, in words."""
    state = State.START
    for kind in turn:
        following = NEXT[state].get(kind)
        if following is None:
            return f"{kind.__struct_config__.tag!r} cannot happen while {state.name}"
        state = following
    return None
