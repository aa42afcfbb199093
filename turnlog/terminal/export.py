"""A session as a file: every event for programs, or a page for an auditor.

Every heading on the page is ours. No text of a user, a model or a tool can look like one, nor give
an auditor's terminal a command.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.content import Citation
from turnlog.projections import words as wording
from turnlog.terminal.replay import price
from turnlog.transports import wire

_encode = msgspec.json.Encoder(decimal_format="number").encode
# Text of others that would begin a heading, also in a quote or a list, or an HTML tag.
_HEADING = re.compile(r"^((?:[ \t>]|[*+-][ \t]|\d{1,9}[.)][ \t])*)(#|=+[ \t]*$|-+[ \t]*$)", re.M)
_TAG = re.compile(r"<(?=[a-z/!?])", re.I)
# What a terminal obeys, such as to clear its screen, and what turns text around.
_COMMAND = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_FENCE = re.compile(r"(`{3,}+(?!.*`)|~{3,})(.*)")
_INDENT = re.compile(r"^ {1,3}(?=```|~~~)", re.M)  # in a list, the block would end with that


def as_jsonl(log: Sequence[Stamped]) -> str:
    """Every kept event, internal ones and log-only fields included, one JSON object a line."""
    return "\n".join(_whole(entry) for entry in log)


def _whole(entry: Stamped) -> str:
    fields = msgspec.to_builtins(entry.event, builtin_types=(Decimal,))
    return _encode(wire.decode(wire.encode_for_audit(entry)) | fields).decode()


def as_markdown(log: Sequence[Stamped]) -> str:
    """The conversation as a page for people: a summary, the decisions, the messages.

    A note marks an answer with an unfounded claim.
    """
    questions = wording.asked_in(log)
    shown = [
        entry
        for entry in log
        if not entry.envelope.internal or isinstance(entry.event, k.ClaimUnfounded)
    ]
    sections = [_section(entry, questions) for entry in shown]
    page = "\n\n".join(filter(None, [_summary(shown), _decisions(shown, questions), *sections]))
    return _harmless(page)


def _harmless(text: str) -> str:
    return _COMMAND.sub(lambda found: repr(found[0])[1:-1], text.replace("\r\n", "\n"))


def _summary(log: Sequence[Stamped]) -> str:
    if not log:
        return ""
    costs = [entry.event.cost_usd for entry in log if isinstance(entry.event, k.Message)]
    known = [cost for cost in costs if cost is not None]
    unknown = f", and {len(costs) - len(known)} answers at a price that is not known"
    questions = sum(isinstance(entry.event, k.UserMessageSent) for entry in log)
    return "\n".join(
        [
            f"# Session {log[0].session_id}",
            "",
            f"- from {log[0].envelope.time} to {log[-1].envelope.time}",
            f"- {questions} questions, {len(costs)} answers of the model",
            f"- ${sum(known, Decimal(0)):f}{unknown if len(known) < len(costs) else ''}",
        ]
    )


def _decisions(log: Sequence[Stamped], questions: wording.Asked) -> str:
    rows = [_cells(entry.envelope.time, entry.event, questions) for entry in _resolved(log)]
    head = "## Decisions\n\n| when | what was asked | outcome |\n|---|---|---|"
    return "\n".join([head, *rows]) if rows else ""


def _resolved(log: Sequence[Stamped]) -> Iterator[Any]:
    return (entry for entry in log if isinstance(entry.event, k.ApprovalResolved))


def _cells(when: str, event: k.ApprovalResolved, questions: wording.Asked) -> str:
    question = questions.get(event.approval_id)
    outcome = f"{wording.OUTCOMES[event.outcome]} {wording.decision(event, questions)}"
    cells = (when, question.description if question else "", outcome)
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return _contained(text).replace("|", "\\|").replace("\n", " ")


def _section(entry: Stamped, questions: wording.Asked) -> str:
    match entry.event:
        case k.UserMessageSent(content=content, files=files):
            head = f"## User, {entry.envelope.time}"
            return "\n\n".join([head, _contained(content), *_list(map(_file, files))])
        case k.Thinking(content=content) if content:
            return "\n".join(f"> {each}" for each in _contained(content).split("\n"))
        case k.Message(content=content, stop_reason=reason, cost_usd=cost) as message if (
            content or reason != "tool_use"
        ):
            head = f"### {entry.envelope.agent.name} ({reason}{price(cost)})"
            sources = _list(map(_citation, message.citations))
            return "\n\n".join([head, _contained(content), *sources])
        case k.ToolUse(tool_name=name, args=args):
            return f"#### Tool `{name}`\n\n{_fenced(args)}"
        case k.ToolResult(success=success, result=result, error=error, in_doubt=in_doubt):
            head = "Result" if success else "In doubt" if in_doubt else "Failed"
            return f"#### {head}\n\n{_fenced(result if success else error)}"
        case k.ApprovalRequested(description=description):
            return f"#### A person is asked\n\n{_contained(description)}"
        case k.ApprovalResolved(outcome=outcome):
            head = f"{wording.OUTCOMES[outcome].capitalize()}, {entry.envelope.time}"
            return f"#### {head}\n\n{_contained(wording.decision(entry.event, questions))}"
        case k.ClaimUnfounded(claim=claim, why=why):
            return f"#### Audit note: unfounded claim\n\n{_contained(why)}\n\n> {_contained(claim)}"
        case k.Error(error=error):
            return f"#### Error\n\n{_contained(error)}"
    return ""


def _list(lines: Iterable[str]) -> list[str]:
    """The lines as one paragraph; none: no paragraph."""
    listed = "\n".join(f"- {' '.join(_contained(line).split())}" for line in lines)
    return [listed] if listed else []


def _file(facts: dict[str, Any]) -> str:
    about = f"{facts.get('mediaType')}, {facts.get('size')} bytes, sha256 {facts.get('sha256')}"
    return f"Attached: {facts.get('name')} ({about})"


def _citation(citation: Citation) -> str:
    file = citation.get("file") or {}
    title = citation.get("document_title") or citation.get("title") or file.get("name")
    page = f"page {file['page']}" if file.get("page") else None
    source = ", ".join(filter(None, [title, page, citation.get("url")])) or "a source"
    return f"Cites {source}: “{citation.get('cited_text', '')}”"


def _contained(text: str) -> str:
    """Text of others without headings and HTML, and with every code block closed."""
    plain = _TAG.sub("\\\\<", _HEADING.sub(r"\1\\\2", _harmless(text)))
    plain = _INDENT.sub("", plain)
    return "\n".join([plain, *_left_open(plain)])


def _left_open(text: str) -> list[str]:
    """What closes the code block that has no end, if there is one: the same signs, or more of them,
    with nothing behind them.
    """
    opened = ""
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line)
        if found and not opened:
            opened = found[1]
        elif found and found[1].startswith(opened) and not found[2].strip(" \t"):
            opened = ""
    return [opened] if opened else []


def _fenced(value: Any) -> str:
    """JSON with one field per line, or text, in a fence longer than any inside."""
    text = value if isinstance(value, str) else _pretty(value)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text or '(empty)'}\n{fence}"


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
