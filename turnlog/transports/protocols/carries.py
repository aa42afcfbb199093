"""What each protocol carries of a turn, read from the tables themselves. `make docs` prints it."""

from typing import Any

from turnlog.transports.protocols import story as s

# fmt: off
ROWS: dict[type[s.Step], str] = {
    s.TextGrew:     "text as it is written",
    s.TextEnded:    "citations",
    s.ThoughtGrew:  "thoughts as they are written",
    s.ThoughtEnded: "signatures of thoughts",
    s.Called:       "calls of tools",
    s.Answered:     "results of tools",
    s.Asked:        "an approval is asked for",
    s.Decided:      "who decided on it",
    s.TookOver:     "another agent takes over",
    s.Waits:        "the turn waits",
    s.Ended:        "tokens and cost",
    s.Failed:       "what failed",
}
# Where a table's entry says less, or something else, than its row.
NOTES: dict[tuple[str, type[s.Step]], str] = {
    ("AG-UI", s.TextEnded):            "live, as `CUSTOM`",
    ("AG-UI", s.Asked):                "with the end of the run: `interrupt`",
    ("UI stream", s.Waits):            "the stream ends",
    ("Responses", s.Decided):          "the call's outcome only",
    ("Responses", s.Waits):            "the response ends",
    ("Responses", s.Ended):            "tokens",
    ("Chat Completions", s.Called):    "functions of the client only",
    ("Chat Completions", s.Asked):     "said in the text",
    ("Chat Completions", s.Waits):     "said in the text",
    ("Chat Completions", s.Ended):     "tokens",
    ("ChatKit", s.ThoughtEnded):       "no: the thought without its signature",
    ("ChatKit", s.Waits):              "the stream ends",
    ("ChatKit", s.Ended):              "no",
}
# fmt: on


def tables() -> dict[str, dict[type[s.Step], Any]]:
    """The table of each protocol, by its name. ChatKit's needs its package."""
    from turnlog.transports.protocols import ui_stream
    from turnlog.transports.protocols.agui import events
    from turnlog.transports.protocols.chatkit import items as chatkit
    from turnlog.transports.protocols.openai_api import completions
    from turnlog.transports.protocols.openai_api import items as responses

    return {
        "UI stream": ui_stream.TABLE,
        "AG-UI": events.TABLE,
        "Responses": responses.TABLE,
        "Chat Completions": completions.TABLE,
        "ChatKit": chatkit.TABLE,
    }


def page() -> list[str]:
    """The table as lines of Markdown. Our own wire carries every row."""
    known = tables()
    head = f"| what | own wire | {' | '.join(known)} |"
    rows = [
        f"| {words} | yes | {' | '.join(_cell(name, step, known[name]) for name in known)} |"
        for step, words in ROWS.items()
    ]
    return [head, "|---" * (len(known) + 2) + "|", *rows]


def _cell(name: str, step: type[s.Step], table: dict[type[s.Step], Any]) -> str:
    return NOTES.get((name, step), "yes" if step in table else "no")
