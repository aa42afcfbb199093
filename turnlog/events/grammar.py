"""Which event may follow which: the legal order of one turn, as two tables.

`MESSAGE` is the order within one answer, `TURN` the order of everything else. Several agents
may write at the same time, so each answer is followed by its message id. The tables hold for
what is streamed and for what is kept, because the kept events are the streamed ones with the
transient ones left out. Internal events are not on the screen and not in the tables.
"""

from collections.abc import Iterable
from enum import Enum, auto

from turnlog.events import kinds as k
from turnlog.events.base import Event


class Answer(Enum):
    """Where one answer stands."""

    BEGUN = auto()
    THINKING = auto()
    WRITING = auto()
    KEEPING = auto()  # the call is over, its events are being kept
    KEPT = auto()


class State(Enum):
    """Where the turn stands."""

    START = auto()
    ASKED = auto()  # nobody has answered yet
    ANSWERED = auto()
    TOOLS = auto()  # an answer has asked for tools
    OVER = auto()


# fmt: off
MESSAGE: dict[Answer, dict[type[Event], Answer]] = {
    Answer.BEGUN:    {k.ThinkingStart: Answer.THINKING, k.MessageChunk: Answer.WRITING,
                      k.CitationsFound: Answer.KEEPING, k.Thinking: Answer.KEEPING,
                      k.Message: Answer.KEPT},
    Answer.THINKING: {k.ThinkingChunk: Answer.THINKING, k.ThinkingComplete: Answer.WRITING,
                      k.Thinking: Answer.KEEPING, k.Message: Answer.KEPT},
    Answer.WRITING:  {k.ThinkingStart: Answer.THINKING, k.MessageChunk: Answer.WRITING,
                      k.CitationsFound: Answer.KEEPING, k.Thinking: Answer.KEEPING,
                      k.Message: Answer.KEPT},
    Answer.KEEPING:  {k.Thinking: Answer.KEEPING, k.Message: Answer.KEPT},
    Answer.KEPT:     {},
}
TURN: dict[State, dict[type[Event], State]] = {
    State.START:    {k.UserMessageSent: State.ASKED},
    State.ASKED:    {k.AgentChanged: State.ASKED, k.Complete: State.OVER, k.Error: State.OVER},
    State.ANSWERED: {k.AgentChanged: State.ANSWERED, k.ToolUse: State.TOOLS,
                     k.Complete: State.OVER, k.Error: State.OVER},
    State.TOOLS:    {k.AgentChanged: State.TOOLS, k.ToolUse: State.TOOLS,
                     k.ApprovalRequested: State.TOOLS, k.ApprovalResolved: State.TOOLS,
                     k.ToolResult: State.TOOLS, k.Complete: State.OVER, k.Error: State.OVER},
    State.OVER:     {},
}
# fmt: on

OF_A_MESSAGE = frozenset(kind for following in MESSAGE.values() for kind in following)
GOES_ON = ("tool_use", "pause_turn")  # stop reasons after which the model speaks again

_INTERNAL = {kind for kind in k.KINDS.values() if kind.internal}
OUTSIDE_A_TURN: frozenset[type[Event]] = frozenset({k.SessionStart, k.ResyncRequired, *_INTERNAL})


def step(event: Event) -> tuple[type[Event], str]:
    """The event as `broken_rule` takes it."""
    return type(event), getattr(event, "message_id", "")


def broken_rule(turn: Iterable[tuple[type[Event], str]]) -> str | None:
    """The first event of the turn that may not stand where it stands, in words.

    Each event comes as its kind and the id of the message that it belongs to, if it does.
    """
    state = State.START
    answers: dict[str, Answer] = {}
    for kind, message_id in turn:
        name = kind.__struct_config__.tag
        if kind not in OF_A_MESSAGE:
            following = TURN[state].get(kind)
            if following is None:
                return f"{name!r} cannot happen while {state.name}"
            state = following
            if kind is k.Complete and (unkept := _unkept(answers)):
                return f"'complete' cannot happen while message {unkept!r} is not kept"
            continue
        if state in (State.START, State.OVER):
            return f"{name!r} cannot happen while {state.name}"
        answer = answers.get(message_id, Answer.BEGUN)
        if kind not in MESSAGE[answer]:
            return f"{name!r} of message {message_id!r} cannot happen while {answer.name}"
        answers[message_id] = MESSAGE[answer][kind]
        if kind is k.Message and state is State.ASKED:
            state = State.ANSWERED
    return None


def _unkept(answers: dict[str, Answer]) -> str | None:
    return next((key for key, answer in answers.items() if answer is not Answer.KEPT), None)
