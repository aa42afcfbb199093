"""What the core needs from the outside, as Protocols of a few verbs, and the values that cross.

Adapters do not inherit from these; they fit. The promises in the docstrings are checked by
`turnlog.testing.contracts`. What a Protocol lacks, nobody can do: the log has no update.
"""

from turnlog.ports.answering import (
    Agent,
    Ask,
    CallStarted,
    Engine,
    KeepRaw,
    Output,
    Permission,
    Said,
    Show,
    Standing,
    ToolBox,
    ToolSpec,
    ToolStarted,
    TurnResult,
)
from turnlog.ports.serving import (
    Backend,
    Bus,
    StartedTurn,
)
from turnlog.ports.storing import (
    OPEN,
    Approval,
    Audit,
    Decision,
    EventLog,
    Evidence,
    Permits,
    Question,
    Session,
    Sessions,
    Store,
    ToolRun,
    Turn,
    Turns,
)

__all__ = [
    "Output",
    "ToolStarted",
    "Decision",
    "OPEN",
    "Approval",
    "Permits",
    "Standing",
    "Permission",
    "ToolRun",
    "Agent",
    "Ask",
    "Audit",
    "Backend",
    "Bus",
    "CallStarted",
    "Engine",
    "EventLog",
    "Evidence",
    "KeepRaw",
    "Question",
    "Said",
    "Session",
    "Sessions",
    "Show",
    "StartedTurn",
    "Store",
    "ToolBox",
    "ToolSpec",
    "Turn",
    "TurnResult",
    "Turns",
]
