"""Summaries of what leaves a window: by the API itself where the model can, else by a plain call.

The API compacts what it has read before, so most of that comes from the prompt cache. A plain
call goes to a cheap model where one is known.
"""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import EngineFailed
from turnlog.events.content import usage_of
from turnlog.events.ids import new_summary_id
from turnlog.events.kinds import HistorySummarized, Message
from turnlog.ports import (
    NOBODY,
    Billed,
    CallGuard,
    CallStarted,
    Leaving,
    Model,
    Prompt,
    Summarizer,
    owns_loop,
)
from turnlog.projections.history.models import has
from turnlog.projections.history.window.digest import INSTRUCTIONS
from turnlog.turns.answers.engines import Engines

SUMMARY_TOKENS = 4_096
SECONDS = 180.0  # for all tries together
CHEAP = "claude-haiku-4-5"  # where Anthropic answers, and the session's model cannot compact
GIVEN_UP = ("refusal",)  # stop reasons of answers that are no summaries
_REPORTS = (Message, CallStarted)  # what says how much a call has used


@dataclass(frozen=True, kw_only=True)
class Summaries:
    """Who summarizes, by the engine of the session."""

    engines: Engines
    default: str  # the engine that calls Claude directly
    chosen: str = ""  # a model for all summaries; "": the best way for the session's model
    provider: str = "anthropic"
    simulated: bool = False

    def by(self, engine: str) -> Summarizer:
        """By the model of the engine. A graph of somebody's own has none that we could ask: Claude
        does it, if it is there and not simulated. A simulated Claude only knows its own words.
        """
        answerer = self.engines.get(engine)
        if not owns_loop(answerer):
            return self._of(answerer)
        if (model := getattr(answerer, "model", None)) is not None:
            return self._of(model)
        beside = None if self.simulated else self.engines.get(self.default)
        return NOBODY if beside is None or owns_loop(beside) else self._of(beside)

    def _of(self, model: Model) -> Summarizer:
        return ModelSummarizer(model=model, chosen=self.chosen, provider=self.provider)


class ModelSummarizer(Struct, frozen=True, kw_only=True):
    """Asks one model. Every turn has one, in case it needs it."""

    model: Model
    chosen: str = ""
    provider: str = "anthropic"

    async def summarize(self, leaving: Leaving, guard: CallGuard, billed: Billed) -> str:
        """In the best way that works. A provider that is down is not asked twice."""
        failed: EngineFailed | None = None
        try:
            async with asyncio.timeout(SECONDS):
                for prompt in self._ways(leaving):
                    verdict = await guard.before(prompt, self.model, leaving.agent_id)
                    if verdict.refusal is not None:
                        raise verdict.refusal
                    try:
                        return _text(await self._called(prompt, billed))
                    except EngineFailed as failure:
                        failed = failure
                        if failure.retryable:
                            break
        except TimeoutError:
            raise EngineFailed("stalled", "The summary took too long.", retryable=True) from None
        assert failed is not None
        raise failed

    def _ways(self, leaving: Leaving) -> Iterator[Prompt]:
        own = leaving.model
        if self.chosen:
            yield _plain(self.chosen, leaving)
            return
        if has(own, "compaction") and self.provider != "bedrock":  # which does not have it
            yield replace(
                leaving.prompt(),
                max_tokens=SUMMARY_TOKENS,
                compaction=INSTRUCTIONS,
                output_schema=None,
            )
        elif has(own, "compaction") is False and self.provider == "anthropic" and own != CHEAP:
            yield _plain(CHEAP, leaving)
        yield _plain(own, leaving)

    async def _called(self, prompt: Prompt, billed: Billed) -> Message:
        """The answer. One that is cut off or cancelled is billed by what it began with."""
        last: Message | CallStarted | None = None
        try:
            async with aclosing(self.model.call(prompt)) as batches:
                async for outputs in batches:
                    last = next((o for o in outputs if isinstance(o, _REPORTS)), last)
        finally:
            if last is not None:
                billed(_call(prompt, last))
        if not isinstance(last, Message):
            raise EngineFailed("unreadable", "The model gave no whole answer.")
        return last


def _plain(model: str, leaving: Leaving) -> Prompt:
    text = f"<conversation>\n{leaving.text()}\n</conversation>\n\n{INSTRUCTIONS}"
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    return Prompt(model=model, system="", messages=messages, max_tokens=SUMMARY_TOKENS)


def _call(prompt: Prompt, last: Message | CallStarted) -> HistorySummarized:
    used = last.token_usage if isinstance(last, Message) else usage_of(last.reported)
    return HistorySummarized(
        message_id=new_summary_id(last.message_id),
        model=last.model or prompt.model,
        how="call" if prompt.compaction is None else "compaction",
        partial=not isinstance(last, Message),
        token_usage=used,
        reported=last.reported,
    )


def _text(message: Message) -> str:
    """What the compaction holds, or the answer's own words."""
    if message.stop_reason in GIVEN_UP:
        return ""
    summaries = [block.get("content") for block in message.blocks if block["type"] == "compaction"]
    return next((text for text in summaries if isinstance(text, str)), message.content)
