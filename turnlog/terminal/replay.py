"""A session in the terminal: one line for each event."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.projections import words as wording
from turnlog.projections.history.messages import as_text

LONGEST_PAUSE = 10.0  # seconds


async def play(
    log: Sequence[Stamped],
    say: Callable[[str], None],
    *,
    to: int | None = None,
    speed: float = 0,
) -> None:
    """Say each event. With a speed, wait between events as it was, so many times faster."""
    previous: datetime | None = None
    questions = wording.asked_in(log)
    for entry in log:
        if to is not None and entry.position > to:
            break
        when = datetime.fromisoformat(entry.envelope.time)
        if speed > 0 and previous is not None:
            pause = (when - previous).total_seconds() / speed
            await asyncio.sleep(min(max(0.0, pause), LONGEST_PAUSE))
        previous = when
        mark = "·" if entry.envelope.internal else " "
        who = "User" if isinstance(entry.event, k.UserMessageSent) else entry.envelope.agent.name
        say(_plain(f"{entry.seq:>5}{mark}{when:%H:%M:%S}  {who:12} {line(entry.event, questions)}"))


def _plain(text: str) -> str:
    """Printable, indented text: it cannot steer the terminal or fake a line."""
    printable = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    return printable.replace("\n", "\n" + " " * 29)


def line(event: Event, questions: wording.Asked) -> str:
    """One event: a word for what happened, then the details."""
    word, details = _line(event, questions)
    return f"{word:9} {details}"


def _line(event: Event, questions: wording.Asked) -> tuple[str, str]:
    match event:
        case k.UserMessageSent(content=content, files=files):
            names = ", ".join(str(file.get("name")) for file in files)
            return "user", f"{content}  [{names}]" if names else content
        case k.Thinking(content=content, redacted=redacted):
            return "thinking", "(redacted)" if redacted else content
        case k.Message(content=content, stop_reason=reason, cost_usd=cost):
            return "message", f"{content}  [{reason}{price(cost)}]"
        case k.ToolUse(tool_name=name, args=args):
            return "tool", f"{name}: {wording.call(args)}"
        case k.ToolResult():
            return _result(event)
        case k.ApprovalRequested(description=description):
            return "asks", f"{description}  [until {wording.until(event)}]"
        case k.ApprovalResolved(outcome=outcome):
            return wording.OUTCOMES[outcome], wording.decision(event, questions)
        case k.Error(error=error, code=code):
            return "error", f"{error}  [{code}]"
    return _internal(event)


def _result(event: k.ToolResult) -> tuple[str, str]:
    if event.success:
        return "result", wording.result(event.result)
    return "in doubt" if event.in_doubt else "failed", str(event.error)


def _history(event: Event) -> tuple[str, str] | None:
    """What became of the history that the model is told."""
    match event:
        case k.HistoryRepaired(repairs=repairs):
            return "repaired", ", ".join(f"{r['rule']} at {r['place']}" for r in repairs)
        case k.HistoryAnchored(anchor=anchor, summary=summary):
            return "forgets", f"the model is told what came from {anchor} on, and before: {summary}"
        case k.HistorySummarized(model=model, how=how, cost_usd=cost):
            return "sums up", f"what leaves the window, by {model}  [{how}{price(cost)}]"
        case k.SummaryFailed(code=code, error=error, lost=lost):
            rest = "it is lost to the model" if lost else "the window stays as it is"
            return "no summary", f"{error} What was to leave the window: {rest}  [{code}]"
    return None


def _internal(event: Event) -> tuple[str, str]:
    """Events for the audit, which users and the model do not see."""
    match event:
        case k.WebSearched(query=query, results=results):
            return "searched", f"{query}  [{len(results)} found]"
        case k.DecisionRefused(tried_by=who, why=why):
            return "no say", f"{who} tried to decide: {why}"
        case k.ToolSettled(tool_name=name, happened=happened, decided_by=who, note=note):
            claim = f"{name} {'was' if happened else 'was not'} done, says {who}"
            return "settled", claim + (f": {note}" if note else "")
        case k.ClaimUnfounded(claim=claim, why=why):
            return "unfounded", f"{claim}  [{why}]"
        case k.AgentChanged(from_=before, to=to, reason=reason):
            return "speaks", f"{to} after {before}" + (f": {reason}" if reason else "")
        case k.EnginePaused(engine=engine, state=state):
            how = "waits for a person; its state is kept" if state else "goes on"
            return "paused", f"{engine} {how}"
        case k.TurnResumed():
            return "resumed", "the process had died; another one goes on"
    return _history(event) or (event.type, as_text(event.shown()))


def price(cost: Decimal | None) -> str:
    return "" if cost is None else f", ${cost:f}"
