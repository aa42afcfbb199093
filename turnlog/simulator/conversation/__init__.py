"""The conversational simulator: what the simulated Claude says when nothing is scripted.

`answer` is all there is to call. What it can be asked is in `intents.py`. Nothing is remembered
here: every answer comes from the request alone.
"""

from turnlog.projections.history.models import has

from ..script import (
    Block,
    Failure,
    Json,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
    invalid_request,
)
from ..sources import documents
from ..tokens import CHARACTERS_PER_TOKEN, output_tokens
from . import memory, structured
from .plans import Batch, Desk, Speech, run
from .reading import HAND_OFF, understood
from .small_talk import SELF
from .talk import Talk, read
from .tools import Call, Ended, offered
from .wording import result

__all__ = ["answer"]

INTERLEAVED = "interleaved-thinking-2025-05-14"


def answer(body: Json, betas: str = "") -> Reply | Failure:
    """An answer to any request that passed the rules."""
    if summarized := memory.summary(body):
        return summarized
    desk = Desk(read(body), offered(body))
    outcome = _forced(desk, _outcome(desk))
    speech = outcome if isinstance(outcome, Speech) else Speech(_blocks(outcome))
    if (form := (body.get("output_config") or {}).get("format")) and not isinstance(outcome, Batch):
        text = "\n".join(block.text for block in speech.blocks if isinstance(block, Text))
        try:
            value = structured.as_json(form["schema"], desk.talk.now.question, text)
        except structured.Impossible as why:
            return invalid_request(f"The simulated Claude cannot make this output: {why}.")
        return Reply(Text(value), usage=speech.usage)
    blocks = _introduced(speech.blocks, desk.talk)
    if _thinks(body, bool(desk.talk.now.calls), betas):
        return _within(_with_thought(blocks, speech.usage, body), body)
    return _within(Reply(*blocks, usage=speech.usage), body)


def _outcome(desk: Desk) -> Batch | Speech | str:
    now = desk.talk.now
    # A hand-off that this agent was not offered is the one that brought the question here.
    made = [d for d in now.calls if d.name in desk.tools or not d.name.startswith(HAND_OFF)]
    try:
        outcome = run(desk, understood(desk), made)
    except Ended as end:
        outcome = None if made else str(end)
    if outcome is None:  # calls that no plan of ours has made
        outcome = "\n\n".join(dict.fromkeys(map(result, made)))
    is_cited = any(block.get("type") == "search_result" for d in made for block in d.blocks)
    if isinstance(outcome, str) and is_cited:
        return Speech(documents.answer(desk.talk.body, now.question))
    return outcome


def _forced(desk: Desk, outcome: Batch | Speech | str) -> Batch | Speech | str:
    """A tool that must be called is called: without arguments, if nobody has said them."""
    choice = desk.talk.body.get("tool_choice") or {}
    if choice.get("type") not in ("any", "tool") or desk.talk.now.calls or not desk.tools:
        return outcome
    called = outcome.calls[0].name if isinstance(outcome, Batch) else None
    name = choice.get("name") or called or next(iter(desk.tools))
    return outcome if name == called else Batch([Call(name, {})])


def _blocks(outcome: Batch | str) -> list[Block]:
    if isinstance(outcome, str):
        return [Text(outcome)]
    names = " and ".join(dict.fromkeys(call.name for call in outcome.calls))
    text = f"I call {names}." if outcome.text is None else outcome.text
    opening: list[Block] = [Text(text)] if text else []
    return [*opening, *(ToolCall(call.name, call.input) for call in outcome.calls)]


def _introduced(blocks: list[Block], talk: Talk) -> list[Block]:
    """The first answer of a conversation says that it is a simulation, if it does not anyway. To
    whom another agent hands over, that one has said so."""
    texts = " ".join(block.text for block in blocks if isinstance(block, Text))
    is_first = all(message["role"] == "user" for message in talk.body["messages"])
    if not is_first or talk.before or talk.now.task or "simul" in texts.lower():
        return blocks
    first = blocks[0]
    if isinstance(first, Text) and not first.citations:
        return [Text(f"({SELF}.) {first.text}"), *blocks[1:]]
    return [Text(f"({SELF}.)"), *blocks]


# --- thinking, and where an answer must end ---


def _thinks(body: Json, between_tools: bool, betas: str) -> bool:
    """Before the first tool with any kind; between tools only where the API would think there."""
    kind = (body.get("thinking") or {}).get("type")
    if kind == "enabled":
        return not between_tools or INTERLEAVED in betas
    return kind == "adaptive" or (kind == "between_tools" and between_tools)


def _with_thought(blocks: list[Block], usage: Usage, body: Json) -> Reply:
    """The thought in front. One that is not shown has been paid for all the same."""
    calls = [block.name for block in blocks if isinstance(block, ToolCall)]
    names = " and ".join(dict.fromkeys(calls))
    thought = f"This takes {names}." if calls else "I know what to say."
    default = "omitted" if has(body["model"], "omits_thinking") else "summarized"
    is_shown = ((body.get("thinking") or {}).get("display") or default) != "omitted"
    paid = output_tokens(Thinking(thought))
    numbers = {"thinking_tokens": paid, "output_tokens": paid + sum(map(output_tokens, blocks))}
    shown = Thinking(thought if is_shown else "")
    return Reply(shown, *blocks, usage=Usage(**(vars(usage) | numbers)))


def _within(reply: Reply, body: Json) -> Reply:
    """The answer up to a stop sequence or the most tokens. One that calls tools is left whole."""
    if any(isinstance(block, ToolCall) for block in reply.blocks):
        return reply
    left = body.get("max_tokens") or 0
    for at, block in enumerate(reply.blocks):
        text = block.text if isinstance(block, Text) else ""
        for stop in body.get("stop_sequences") or ():
            if stop and stop in text:
                return _cut(reply, at, text.index(stop), "stop_sequence", stop)
        if text and output_tokens(block) > left:
            return _cut(reply, at, max(1, left) * CHARACTERS_PER_TOKEN, "max_tokens")
        left -= output_tokens(block)
    return reply


def _cut(reply: Reply, at: int, length: int, reason: str, sequence: str | None = None) -> Reply:
    """Never a text of white space only: the API would refuse it when it comes back."""
    block = reply.blocks[at]
    assert isinstance(block, Text)
    text = block.text[:length]
    blocks = (*reply.blocks[:at], *([Text(text, block.citations)] if text.strip() else []))
    return reply.but(blocks=blocks, stop_reason=reason, stop_sequence=sequence)
