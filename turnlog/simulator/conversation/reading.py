"""What a question asks for: `use` first, then files, then the table of intents; else nothing."""

import re
from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from ..sources import documents, pictures, web
from . import small_talk
from .intents import ASKED_BACK, TABLE, TEAM, Act
from .patterns import values
from .plans import Batch, Desk, Plan, Speech, Start
from .tools import Call, Ended, used
from .wording import failure, result

LONGEST, MOST_CUTS = 500, 6  # characters of a question, and places to take a sentence apart
PART = re.compile(r"(?:,? and then|,? and|,? then|[,;.?!]) ", re.I)
OPENING = re.compile(
    r"^(?:(?:hello|hi|hey|ok|okay|thanks|thank you|so|also|now|and|then)[,.!]* |please,? |"
    r"(?:can|could|would|will) you |i (?:want|would like|need) (?:you )?to )+",
    re.I,
)
CLOSING = re.compile(r"(?<! say)(?:,? please|, thanks|, thank you)?[ .!?]*$", re.I)
NO_ANSWER = re.compile(r"(?:i|no|not|do not|don.t|what|why|how|who)\b|.*\?$", re.I)
HAND_OFF = "transfer_to_"
ALONE = ("talk", "web")  # what cannot be a part of a sentence
Names = Collection[str] | None  # of the tools that are there; None: all of them


class Step(NamedTuple):
    """A part of a sentence that one row of the table reads."""

    domain: str
    act: Act
    slots: dict[str, str]
    text: str

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
    task, text = _plain(now.task), _plain(now.question)
    steps = _read(task, names) or _read(text, names) or _read(_answered(desk, text), names)
    if steps:
        return [partial(step.start, desk) for step in steps]
    if handing := _hand_over(desk, text):
        return [partial(_handed_over, handing)]
    if blocks := documents.answer(body, text, is_certain=True):
        return [lambda: Speech(blocks)]
    return [lambda: small_talk.lost(desk, is_read=bool(_ways(text, None)))]


# --- sentences ---


def _plain(text: str) -> str:
    """Its lines, each with single spaces; nothing of a text that is too long to be read."""
    lines = [" ".join(line.split()) for line in text.splitlines() if len(text) <= LONGEST]
    return "\n".join(filter(None, lines))


def _read(text: str, names: Names) -> list[Step]:
    """The steps of all lines. Every line has to be read, and in one way only."""
    every = [_ways(line, names) for line in text.splitlines()]
    if any(len(ways) > 1 for ways in every):
        raise Ended(
            "Is that one thing or several? Please ask for one thing at a time, or put the name "
            "or the title in quotes."
        )
    return [step for ways in every for step in ways[0]] if all(every) else []


def _ways(text: str, names: Names) -> list[list[Step]]:
    """Up to two ways to take a sentence apart so that each part has a row."""
    cuts = list(PART.finditer(text))
    cuts = cuts if len(cuts) <= MOST_CUTS else []
    starts, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(text)]
    ways: list[list[list[Step]]] = [[] for _ in starts]  # by where they begin
    for at in reversed(range(len(starts))):
        for to in range(at, len(ends)):
            step = _step(text[starts[at] : ends[to]], names)
            if step and to + 1 == len(ends):
                ways[at].append([step])
            elif step and step.domain not in ALONE:
                rests = [rest for rest in ways[to + 1] if rest[0].domain not in ALONE]
                ways[at] += [[step, *rest] for rest in rests]
        del ways[at][2:]
    return ways[0]


def _step(text: str, names: Names) -> Step | None:
    """The first row that reads the whole text, and whose tools are there."""
    text = re.sub(r"^what['’]s ", "what is ", CLOSING.sub("", text), flags=re.I)
    for sentence in dict.fromkeys((text, OPENING.sub("", text))):
        for domain, intents in TABLE.items():
            for pattern, act, tools in intents:
                slots = values(pattern, sentence)
                if slots is not None and _are_there(tools.format(**slots), names):
                    return Step(domain, act, slots, text)
    return None


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


def _hand_over(desk: Desk, text: str) -> list[Call]:
    """To the agents whose rows of the table fit the parts of the question, each with its part; or
    else to the one whose words fit."""
    ways = _ways(text, None) or _ways(_answered(desk, text), None)
    parts: dict[str, list[str]] = {}
    for step in ways[0] if len(ways) == 1 else ():
        parts.setdefault(step.domain, []).append(step.text)
    question = desk.talk.now.question
    if len(parts) > 1 and parts.keys() <= set(TEAM):
        calls = [_transfer(desk, agent, " and ".join(said)) for agent, said in parts.items()]
        return [call for call in calls if call] if all(calls) else []
    agents = {step.domain for way in ways for step in way} & set(TEAM)
    agents = agents or {agent for agent, words in TEAM.items() if re.search(words, question, re.I)}
    call = _transfer(desk, agents.pop(), question) if len(agents) == 1 else None
    return [call] if call else []


def _transfer(desk: Desk, agent: str, task: str) -> Call | None:
    tool = desk.tools.get(HAND_OFF + agent)
    if tool is None or len(tool.required) > 1:
        return None
    return Call(tool.name, dict.fromkeys(tool.required, task))


def _handed_over(calls: list[Call]) -> Plan:
    agents = " and the ".join(call.name.removeprefix(HAND_OFF) for call in calls)
    helps = "agent can help here." if len(calls) == 1 else "agents can help here."
    done = yield Batch(calls, f"The {agents} {helps}")
    if len(calls) == 1 and not done[0].failed:
        return f"I have handed this over to the {agents} agent."
    return "\n\n".join(failure(each) if each.failed else each.text for each in done)
