"""A session for the terminal and for files: the same events, as lines and as a page."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.projections.history import as_text
from turnlog.transports import wire

_encode = msgspec.json.Encoder(decimal_format="number").encode
LONGEST_PAUSE = 10.0  # seconds; nobody waits for a night to pass


async def play(
    log: Sequence[Stamped],
    say: Callable[[str], None],
    *,
    to: int | None = None,
    speed: float = 0,
) -> None:
    """Say each event; with a speed, with the pauses that there were, so many times faster."""
    before: datetime | None = None
    for at in log:
        if to is not None and at.position > to:
            break
        when = datetime.fromisoformat(at.placed.at)
        if speed > 0 and before is not None:
            pause = (when - before).total_seconds() / speed
            await asyncio.sleep(min(max(0.0, pause), LONGEST_PAUSE))
        before = when
        mark = "·" if at.placed.internal else " "
        who = "User" if isinstance(at.event, k.UserMessageSent) else at.placed.agent.name
        say(_plain(f"{at.seq:>5}{mark}{when:%H:%M:%S}  {who:12} {line(at.event)}"))


def _plain(text: str) -> str:
    """Nothing that a message says may steer the terminal or pass for a line of its own."""
    shown = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    return shown.replace("\n", "\n" + " " * 29)


def line(event: Event) -> str:
    """One event in one line."""
    match event:
        case k.UserMessageSent(content=content):
            return f"user      {content}"
        case k.Thinking(content=content, redacted=redacted):
            return f"thinking  {'(redacted)' if redacted else content}"
        case k.Message(content=content, stop_reason=reason, cost_usd=cost):
            return f"message   {content}  [{reason}{_price(cost)}]"
        case k.ToolUse(tool_name=name, args=args):
            return f"tool      {name} {as_text(args)}"
        case k.ToolResult(success=True, result=result):
            return f"result    {as_text(result)}"
        case k.ToolResult(error=error):
            return f"failed    {error}"
        case k.Error(error=error, code=code):
            return f"error     {error}  [{code}]"
    return _note(event)


def _note(event: Event) -> str:
    """What is in the log for the audit alone."""
    match event:
        case k.WebSearched(query=query, results=results):
            return f"searched  {query}  [{len(results)} found]"
        case k.HistoryRepaired(repairs=repairs):
            return "repaired  " + ", ".join(f"{r['rule']} at {r['place']}" for r in repairs)
        case k.ClaimUnfounded(claim=claim, why=why):
            return f"unfounded {claim}  [{why}]"
    return f"{event.type}  {as_text(event.shown())}"


def _price(cost: Decimal | None) -> str:
    return "" if cost is None else f", ${cost:f}"


def as_jsonl(log: Sequence[Stamped]) -> str:
    """Every kept event, internal ones and log-only fields included, one JSON object a line."""
    return "\n".join(_whole(at) for at in log)


def as_markdown(log: Sequence[Stamped]) -> str:
    """The conversation as a page for people, with a note where it claims what is not so."""
    noted = (at for at in log if not at.placed.internal or isinstance(at.event, k.ClaimUnfounded))
    parts = [_section(at) for at in noted]
    return "\n\n".join(part for part in parts if part)


def _whole(at: Stamped) -> str:
    fields = msgspec.to_builtins(at.event, builtin_types=(Decimal,))
    return _encode(wire.decode(wire.encode(at)) | fields).decode()


def _section(at: Stamped) -> str:
    match at.event:
        case k.UserMessageSent(content=content):
            return f"## User, {at.placed.at}\n\n{content}"
        case k.Thinking(content=content) if content:
            return "\n".join(f"> {each}" for each in content.splitlines())
        case k.Message(content=content, stop_reason=reason) if content or reason != "tool_use":
            return f"### {at.placed.agent.name} ({reason}{_price(at.event.cost_usd)})\n\n{content}"
        case k.ToolUse(tool_name=name, args=args):
            return f"**Tool** `{name}`\n\n```json\n{as_text(args)}\n```"
        case k.ToolResult(success=success, result=result, error=error):
            told = as_text(result) if success else str(error)
            return f"**{'Result' if success else 'Failed'}**\n\n```\n{told}\n```"
        case k.ClaimUnfounded(claim=claim, why=why):
            return f"**Audit note:** unfounded claim. {why}\n\n> {claim}"
        case k.Error(error=error):
            return f"**Error:** {error}"
    return ""
