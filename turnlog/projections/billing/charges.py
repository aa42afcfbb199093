"""What a message leaves for bills: a row for each part of what was reported."""

from decimal import Decimal
from itertools import repeat
from typing import Any

from turnlog.events.handovers import is_reserved
from turnlog.events.kinds import HistorySummarized, Message
from turnlog.events.money import picousd
from turnlog.events.usage import parts_of

CUT_OFF = ("cancelled", "interrupted")  # stop reasons of answers that were not finished
MOST_PICOUSD = 2**63 - 1  # what a column holds: nine million dollars
SUMMARY = "(summary)"  # what such a call is listed under, where bills go by tool
_TOOLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def usage_rows(
    message: Message | HistorySummarized, place: dict[str, Any], agent_id: str
) -> list[dict[str, Any]]:
    """A message from before there were prices has no costs: they are unknown."""
    costs = message.costs or repeat(None)
    if isinstance(message, Message):
        tools, kind, partial = _tools(message), "", message.stop_reason in CUT_OFF
    else:
        tools, kind, partial = SUMMARY, "summary", message.partial
    shared = {
        **place,
        "message_id": message.message_id,
        "agent_id": agent_id,
        "tools": tools,
        "partial": int(partial),
    }
    parts = parts_of(message.model, message.reported)
    return [
        {
            **shared,
            "part": number,
            "kind": kind or part.kind,
            "model": part.model,
            "input_tokens": part.input_tokens,
            "output_tokens": part.output_tokens,
            "cache_write_5m_tokens": part.write_5m_tokens,
            "cache_write_1h_tokens": part.write_1h_tokens,
            "cache_read_tokens": part.read_tokens,
            "thinking_tokens": part.thinking_tokens,
            "web_searches": part.web_searches,
            "service_tier": part.service_tier,
            "geo": part.geo,
            "speed": part.speed,
            "cost_picousd": _stored_cost(cost),
        }
        for number, (part, cost) in enumerate(zip(parts, costs, strict=False))
    ]


def _stored_cost(cost: Decimal | None) -> int | None:
    """A cost that no table can hold, by a price book with a slip in it, is unknown."""
    exact = None if cost is None else picousd(cost)
    return None if exact is None or not -MOST_PICOUSD <= exact <= MOST_PICOUSD else exact


def _tools(message: Message) -> str:
    """The tools that the call asked for, each once; routing is nobody's business."""
    names = [block.get("name") for block in message.blocks if block.get("type") in _TOOLS]
    if not names:
        return ""
    shown = [name for name in names if isinstance(name, str) and not is_reserved(name)]
    return ", ".join(dict.fromkeys(shown))
