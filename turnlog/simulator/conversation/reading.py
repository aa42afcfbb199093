"""What a question asks for: `use` first, then files, then the table of intents; else nothing."""

import re
from collections.abc import Collection, Iterator
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from ..sources import documents, pictures, web
from . import small_talk
from .erp import FIELDS, KINDS
from .intents import ASKED_BACK, SLOTS, TABLE, TEAM, TEXT, WORDS, Act
from .plans import Batch, Desk, Plan, Speech, Start
from .tools import Call, Ended, used
from .wording import failure, result

LONGEST, MOST_PARTS = 500, 8  # characters that are read as a sentence, and parts of one
PART = re.compile(r"(?:,? and then|,? and|,? then|[,;.?!]) ", re.I)
OPENING = re.compile(
    r"^(?:(?:hello|hi|hey|ok|okay|thanks|thank you|so|also|now|and|then)[,.!]* |please,? |"
    r"(?:can|could|would|will) you |i (?:want|would like|need) (?:you )?to )+",
    re.I,
)
CLOSING = re.compile(r"(?<! say)(?:,? please|, thanks|, thank you)?[ .!?]*$", re.I)
QUOTES = re.compile(r"^[\"“]([^\"“”]*)[\"”]$")
NO_ANSWER = re.compile(r"(?:i|no|not|do not|don.t|what|why|how|who)\b|.*\?$", re.I)
HAND_OFF = "transfer_to_"
ALONE = ("talk", "web")  # what cannot be a part of a sentence
Names = Collection[str] | None  # of the tools that are there; None: all of them


class Step(NamedTuple):
    """A part of a sentence that one row of the table reads."""

    domain: str
    act: Act
    slots: dict[str, str]

    def start(self, desk: Desk) -> Plan | Speech | str:
        if isinstance(self.act, str):
            return self.act.format(**self.slots)
        return self.act(desk, **self.slots)


def understood(desk: Desk) -> list[Start]:
    """What to do for the question, in its order. Raises Ended where that is not clear."""
    now, body = desk.talk.now, desk.talk.body
    if calls := used(now.question, desk.tools):
        return [partial(_use, calls)]
    kinds = {block["type"] for block in now.blocks}
    if kinds & {"document", "search_result"}:
        return [lambda: Speech(documents.answer(body, now.question))]
    if "image" in kinds:
        return [lambda: pictures.described(b for b in now.blocks if b["type"] == "image")]
    names = {*desk.tools, *(["web_search"] if web.offered(body) else [])}
    lines = [" ".join(line.split()) for line in now.question[: LONGEST + 1].splitlines()]
    text = "\n".join(filter(None, lines))
    if steps := _read(text, names) or _read(_answered(desk, text), names):
        return [partial(step.start, desk) for step in steps]
    if call := _hand_off(desk, text):
        return [partial(_handed_over, call)]
    if blocks := documents.answer(body, text, is_certain=True):
        return [lambda: Speech(blocks)]
    return [lambda: small_talk.lost(desk, is_read=any(_ways(text, None)))]


# --- sentences ---


def _read(text: str, names: Names) -> list[Step]:
    """The steps of all lines. Every line has to be read, and in one way only."""
    every = [list(islice(_ways(line, names), 2)) for line in text.splitlines()]
    if any(len(ways) > 1 for ways in every):
        raise Ended(
            "Is that one thing or several? Please ask for one thing at a time, or put the name "
            "or the title in quotes."
        )
    return [step for ways in every for step in ways[0]] if all(every) else []


def _ways(text: str, names: Names, most: int = MOST_PARTS) -> Iterator[list[Step]]:
    """Every way to take a sentence apart so that each part has a row."""
    if len(text) > LONGEST:
        return
    if step := _step(text, names):
        yield [step]
    for cut in islice(PART.finditer(text), most):
        first = _step(text[: cut.start()], names)
        if first and first.domain not in ALONE:
            rests = _ways(text[cut.end() :], names, most - 1)
            yield from ([first, *rest] for rest in rests if rest[0].domain not in ALONE)


def _step(text: str, names: Names) -> Step | None:
    """The first row that reads the whole text, and whose tools are there."""
    text = re.sub(r"^what['’]s ", "what is ", CLOSING.sub("", text), flags=re.I)
    for words in dict.fromkeys((text, OPENING.sub("", text))):
        for domain, intents in TABLE.items():
            for pattern, act, tools in intents:
                if match := _compiled(pattern).fullmatch(f"{words} "):
                    slots = _slots(match)
                    if _are_there(tools.format(**slots), names):
                        return Step(domain, act, slots)
    return None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = re.sub(r"<(\w+)>", lambda word: f"({WORDS[word[1]]})", f"{pattern} ")
    pattern = re.sub(r"\[([^]]+)\] ", r"(?:(?:\1) )?", pattern.replace("(", "(?:"))
    named = re.sub(r"\{(\w+)\}", lambda n: f"(?P<{n[1]}>{SLOTS.get(n[1], TEXT)})", pattern)
    return re.compile(named, re.I)


def _slots(match: re.Match[str]) -> dict[str, str]:
    """What was said, without quotes; the words for a kind of record become its name."""
    slots = {name: QUOTES.sub(r"\1", text) for name, text in match.groupdict().items() if text}
    kind = slots.pop("kinds", "").lower().removesuffix("s") or slots.get("kind", "").lower()
    if kind or "field" in slots:
        slots["kind"] = KINDS[kind] if kind else FIELDS[slots["field"].lower()][0]
    return slots


def _are_there(tools: str, names: Names) -> bool:
    every = [either.split("|") for either in tools.split()]
    return names is None or all(any(one in names for one in either) for either in every)


def _answered(desk: Desk, text: str) -> str:
    """The sentence that an answer makes of what was asked back; "" if nothing was."""
    before = desk.talk.past[-1].answer if desk.talk.past else ""
    sentence = next((s for question, s in ASKED_BACK.items() if question in before), "")
    return "" if NO_ANSWER.match(text) else sentence.format(CLOSING.sub("", text))


# --- tools by name, and other agents ---


def _use(calls: list[Call]) -> Plan:
    done = yield Batch(calls)
    return "\n\n".join(map(result, done))


def _hand_off(desk: Desk, text: str) -> Call | None:
    """To the one agent whose rows of the table, or else whose words, fit the question."""
    agents = {step.domain for way in islice(_ways(text, None), 2) for step in way} & set(TEAM)
    agents = agents or {agent for agent, words in TEAM.items() if re.search(words, text, re.I)}
    tool = desk.tools.get(HAND_OFF + "".join(agents)) if len(agents) == 1 else None
    if tool is None or len(tool.required) > 1:
        return None
    return Call(tool.name, dict.fromkeys(tool.required, desk.talk.now.question))


def _handed_over(call: Call) -> Plan:
    agent = call.name.removeprefix(HAND_OFF)
    (done,) = yield Batch([call], f"The {agent} agent can help here.")
    return failure(done) if done.failed else f"I have handed this over to the {agent} agent."
