"""The conversational simulator: what the simulated Claude says when nothing is scripted.

`answer` is all there is to call. SKILLS below are asked in their order; the first one that has
something to say wins. Everything is recomputed from the request: nothing is remembered here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from ..script import Block, Json, Reply, Text, ToolCall, Usage
from ..tokens import CHARACTERS_PER_TOKEN, input_tokens
from . import (
    citing,
    documents,
    limits,
    memory,
    pictures,
    searching,
    smalltalk,
    story,
    structured,
    thinking,
)
from .acting import act
from .plans import Batch, Told
from .talk import Talk, read
from .toolbox import Tool, offered

__all__ = ["answer"]


SHORT = 500  # characters: nobody greets at greater length


@dataclass(frozen=True)
class Said:
    """What a skill answers, and the thought before it."""

    blocks: list[Block]
    thinks: str
    usage: Usage = Usage()


@dataclass(frozen=True)
class Asked:
    """A request, read."""

    talk: Talk
    tools: list[Tool]
    today: date

    @property
    def question(self) -> str:
        return self.talk.now.question

    @property
    def body(self) -> Json:
        return self.talk.body


def answer(body: Json, betas: str = "", today: date | None = None) -> Reply:
    """An answer to any request that passed the rules."""
    talk = read(body)
    asked = Asked(talk, offered(body), today or datetime.now(UTC).date())
    said = next(said for skill in SKILLS if (said := skill(asked)) is not None)
    blocks = _introduced(said.blocks, talk)
    if thinking.is_on(body, bool(talk.now.calls), betas):
        return limits.within(thinking.with_thought(blocks, said.thinks, body, said.usage), body)
    return limits.within(Reply(*blocks, usage=said.usage), body)


def _introduced(blocks: list[Block], talk: Talk) -> list[Block]:
    """The first answer of a conversation says that it is a simulation, if it does not anyway."""
    texts = [block.text for block in blocks if isinstance(block, Text)]
    structured_output = (talk.body.get("output_config") or {}).get("format")
    if not talk.is_first_answer or structured_output or "simul" in " ".join(texts).lower():
        return blocks
    opening = f"({smalltalk.OPEN}.) "
    if blocks and isinstance(blocks[0], Text) and not blocks[0].citations:
        return [Text(opening + blocks[0].text), *blocks[1:]]
    return [Text(opening.strip()), *blocks]


# --- skills ---


def _structured(asked: Asked) -> Said | None:
    told = structured.answer(asked.body, asked.question)
    return Said([Text(told)], "The answer has to be JSON of the schema.") if told else None


def _long_story(asked: Asked) -> Said | None:
    if "story" not in asked.question.lower() or asked.talk.now.calls or _must_call(asked):
        return None
    return Said([Text(story.TEXT)], "The user wants a story. I know exactly one.")


def _recalled(asked: Asked) -> Said | None:
    told = None if _must_call(asked) else memory.recall(asked.talk)
    return Said([Text(told)], "This is about our conversation, so I look back.") if told else None


def _chatted(asked: Asked) -> Said | None:
    occasions, rest = smalltalk.heard(asked.question[:SHORT])
    if (
        not occasions
        or rest
        or len(asked.question) > SHORT
        or asked.talk.now.blocks
        or _must_call(asked)
    ):
        return None
    told = smalltalk.reply(occasions, asked.talk, asked.tools)
    return Said([Text(told)], "This is small talk: no tool is needed.")


def _searched(asked: Asked) -> Said | None:
    tool = searching.offered(asked.body)
    if tool is None or not searching.is_asked(asked.question, bool(asked.tools)):
        return None
    blocks, searches, characters = searching.search(tool, asked.question)
    grown = input_tokens(asked.body) + characters // CHARACTERS_PER_TOKEN
    usage = Usage(web_searches=searches, final_input_tokens=grown)
    return Said(blocks, "The user wants something from the web, so I search it.", usage)


def _read_documents(asked: Asked) -> Said | None:
    """Documents of this message, unless the user asks for a write; or of a tool's results."""
    here = {block["type"] for block in asked.talk.now.blocks} & {"document", "search_result"}
    if not here or asked.talk.now.calls:
        return None
    found = documents.passages(asked.body)
    blocks = citing.answer(asked.question, found)
    if not blocks:
        titles = ", ".join(documents.unreadable(asked.body))
        told = f"I was given {titles}, but I cannot read any text in it, so I cite nothing."
        blocks = [Text(told)]
    return Said(blocks, "The answer must come from the document, so I look for the passage.")


def _looked_at_pictures(asked: Asked) -> Said | None:
    images = [block for block in asked.talk.now.blocks if block["type"] == "image"]
    if not images or asked.talk.now.calls:
        return None
    told = " and ".join(pictures.described(image) for image in images)
    text = f"You sent {told}. I am a simulation: I read its header, I cannot see what it shows."
    return Said([Text(text)], "I can read the header of an image, not the image.")


def _ranked(asked: Asked) -> Said | None:
    if asked.talk.now.calls or _must_call(asked):
        return None
    told = smalltalk.ranked(asked.question[:SHORT], asked.tools)
    return Said([Text(told)], "This takes comparing, which I cannot. I say so.") if told else None


def _acted(asked: Asked) -> Said | None:
    done = act(asked.talk, asked.tools, asked.today, _must_call(asked))
    match done:
        case Batch(calls=calls, says=says, thinks=thinks):
            spoken: list[Block] = [Text(says)] if says else []
            return Said([*spoken, *(ToolCall(call.name, call.input) for call in calls)], thinks)
        case Told() as told:
            return Said(_cited_sources(asked, told) or [Text(told.text)], told.thinks)
    return None


def _cited_sources(asked: Asked, told: Told) -> list[Block]:
    has_sources = any(b.get("type") == "search_result" for d in told.sources for b in d.blocks)
    if not has_sources:
        return []
    return citing.answer(asked.question, documents.passages(asked.body))


def _read_earlier_documents(asked: Asked) -> Said | None:
    """A question about a document that was sent before; only with a good match."""
    found = documents.passages(asked.body)
    blocks = citing.answer(asked.question, found, or_nothing=True)
    return Said(blocks, "This is in a document that I was given before.") if blocks else None


def _lost(asked: Asked) -> Said | None:
    told = smalltalk.lost(asked.question, asked.tools)
    return Said([Text(told)], "Nothing that I know fits. I say so instead of guessing.")


def _must_call(asked: Asked) -> bool:
    choice = (asked.body.get("tool_choice") or {}).get("type")
    return choice in ("any", "tool") and not asked.talk.now.calls


Skill = Callable[[Asked], Said | None]

SKILLS: tuple[Skill, ...] = (
    _structured,
    _long_story,
    _recalled,
    _chatted,
    _searched,
    _read_documents,
    _looked_at_pictures,
    _ranked,
    _acted,
    _read_earlier_documents,
    _lost,
)
