"""What the core needs from the outside, as Protocols of a few verbs, and the values that cross.

Adapters do not inherit from these; they fit. The promises in the docstrings are checked by
`turnlog.testing.contracts`. What a Protocol lacks, nobody can do: the log has no update.
"""

from turnlog.ports.answering import (
    Agent,
    Ask,
    CallStarted,
    Engine,
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
    Offer,
    OfferedTool,
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
from turnlog.ports.tasking import MOST_TASKS, Task, Tasks

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
    "MOST_TASKS",
    "Agent",
    "Ask",
    "Audit",
    "Backend",
    "Bus",
    "CallStarted",
    "Engine",
    "EventLog",
    "Evidence",
    "Offer",
    "OfferedTool",
    "Question",
    "Said",
    "Session",
    "Sessions",
    "Show",
    "StartedTurn",
    "Store",
    "Task",
    "Tasks",
    "ToolBox",
    "ToolSpec",
    "Turn",
    "TurnResult",
    "Turns",
]
