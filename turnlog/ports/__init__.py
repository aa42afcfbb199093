"""What the core needs from the outside, as Protocols of a few verbs, and the values that cross.

Adapters do not inherit from these; they fit. The promises in the docstrings are checked by
`turnlog.testing.contracts`. What a Protocol lacks, nobody can do: the log has no update.
"""

from turnlog.ports.backend import Backend, StartedTurn
from turnlog.ports.billing import Billing, Charge, Rate, Spent, no_price
from turnlog.ports.bus import Batches, Bus, Encode, LiveEvent, OnSignal, Signal
from turnlog.ports.engine import (
    Agent,
    Ask,
    CallStarted,
    Engine,
    KeepRaw,
    Output,
    Said,
    Show,
    TurnResult,
)
from turnlog.ports.store import (
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
from turnlog.ports.tasks import MOST_TASKS, Task, Tasks
from turnlog.ports.tools import (
    Offer,
    OfferedTool,
    Permission,
    Standing,
    ToolBox,
    ToolOutput,
    ToolSpec,
    ToolStarted,
)

__all__ = [
    "Signal",
    "OnSignal",
    "LiveEvent",
    "Encode",
    "Batches",
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
    "Billing",
    "Bus",
    "CallStarted",
    "Charge",
    "Engine",
    "EventLog",
    "Evidence",
    "Offer",
    "OfferedTool",
    "KeepRaw",
    "Question",
    "Rate",
    "Said",
    "Session",
    "Sessions",
    "Show",
    "Spent",
    "StartedTurn",
    "Store",
    "Task",
    "Tasks",
    "ToolBox",
    "ToolOutput",
    "ToolSpec",
    "Turn",
    "TurnResult",
    "Turns",
    "no_price",
]
