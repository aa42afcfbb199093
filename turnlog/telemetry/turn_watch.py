"""Watches one turn: counts, logs and traces its shown events.

It sees what a client sees, so it needs no hook in stages, engines or tools. It looks at each event,
and there are few, because chunks are joined before they are shown.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Any

from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Envelope, Stamped
from turnlog.events.grammar import GOES_ON
from turnlog.telemetry import spans
from turnlog.telemetry.logs import context_of
from turnlog.telemetry.metrics import Metrics

_log = logging.getLogger(__name__)
Called = k.Message | k.HistorySummarized  # what a model call leaves in the log
CHUNKS: dict[type, str] = {k.MessageChunk: "text", k.ThinkingChunk: "thinking"}
Show = Callable[[Sequence[Stamped]], None]


class TurnWatch:
    """The state of a turn, as its events show it."""

    def __init__(
        self,
        session_id: str,
        turn_id: str,
        metrics: Metrics,
        show: Show,
        tracer: spans.Tracer | None = None,
    ) -> None:
        self.ids = (session_id, turn_id)
        self.metrics = metrics
        self.tracer = tracer or spans.listening_tracer()
        self.span: Any = None
        self.model = ""  # that is asked
        self.began = self.call_began = time.time_ns()
        self.calling = True  # a model call is under way
        self.waiting = True  # for the first chunk
        self.ending = False
        self.failure: EngineFailed | None = None
        self.outcome = "lost"
        self.code: str | None = None
        self._steps: dict[str, int] = {}  # when each agent last did something
        self._show = show
        self._chunks = dict.fromkeys(CHUNKS, 0)  # since the last message

    def show(self, batch: Sequence[Stamped]) -> None:
        """Show the events, then note them."""
        if not batch:  # all of it was internal
            return
        self._show(batch)
        for entry in batch:
            kind = type(entry.envelope.event)
            if kind in self._chunks:  # counted here and added up later: there are many
                self._chunks[kind] += 1
                if self.waiting:
                    self._first_chunk()
            elif kind in NOTES:
                NOTES[kind](self, entry.envelope.event)

    def note(self, stored: Sequence[Envelope]) -> None:
        """Count each model call, and write a log line; those that nobody is shown too."""
        now = time.time_ns()
        for placed in stored:
            match placed.event:
                case (k.Message() | k.HistorySummarized()) as call if call.model:
                    agent_id, tokens = placed.agent.id, _tokens(call)
                    ms = (now - self._steps.get(agent_id, self.began)) // 1_000_000
                    stopped = call.stop_reason if isinstance(call, k.Message) else "summary"
                    facts = {"agent": agent_id, **_call_facts(call, tokens, ms, stopped)}
                    _log.info("model call", extra={"facts": facts})
                    _count(self.metrics, call, tokens, agent_id, stopped)
        self._steps |= {placed.agent.id: now for placed in stored}

    def started(self, agent: AgentRef, model: str, tools: Sequence[str] = ()) -> Context:
        """The question is on disk. Tasks that run in this context belong to the turn.

        `tools`: the agent's own. Those of others are known later, or never.
        """
        self.model = model
        self.metrics.turns_started.add()
        self.metrics.turns_running.add()
        context = context_of(*self.ids)
        facts = {"agent": agent.id, "model": model, "tools": ",".join(tools)}
        context.run(_log.info, "turn started", extra={"facts": facts})
        return context.run(self._with_span, agent) if self.tracer is not None else context

    def _with_span(self, agent: AgentRef) -> Context:
        assert self.tracer is not None
        attributes = spans.agent_attributes(agent, self.ids[0], self.model)
        name = f"invoke_agent {agent.name}"
        self.span = self.tracer.start(name, "INTERNAL", self.began, attributes, None)
        with self.tracer.current(self.span):
            return copy_context()

    def stopped_by(self, failure: BaseException | None) -> None:
        """The work is done, or something stopped it. The end comes next."""
        self.ending = True
        self.failure = failure if isinstance(failure, EngineFailed) else None

    def ended(self) -> None:
        """Count, log and trace the end of the turn."""
        self.add_chunks()
        seconds = (time.time_ns() - self.began) / 1e9
        self.metrics.turns_running.add(-1)
        self.metrics.turns_ended.add(1, self.outcome)
        self.metrics.turn_seconds.observe(seconds)
        if self.failure is not None:
            self.metrics.model_errors.add(1, self.failure.code)
            if self.calling:
                self.trace_call({})
        if self.tracer is not None and self.span is not None:
            self.tracer.end(self.span, time.time_ns(), {}, self.code)
        facts: dict[str, object] = {"outcome": self.outcome, "seconds": round(seconds, 3)}
        if self.code is not None:
            facts["code"] = self.code
        _log.info("turn ended", extra={"facts": facts})

    def add_chunks(self) -> None:
        """The chunks since the last message, to those of everybody."""
        for kind, name in CHUNKS.items():
            if self._chunks[kind]:
                self.metrics.chunks.add(self._chunks[kind], name)
                self._chunks[kind] = 0

    def _first_chunk(self) -> None:
        self.waiting = False
        self.metrics.first_chunk_seconds.observe((time.time_ns() - self.began) / 1e9)

    def trace_call(self, answer: spans.Attributes) -> None:
        """Trace a model call, which is over."""
        if self.tracer is not None:
            attributes = spans.chat_attributes(self.model, self.ids[0])
            code = self.failure.code if self.failure else None
            self._trace("chat " + self.model, "CLIENT", self.call_began, attributes | answer, code)

    def trace_tool(self, result: k.ToolResult) -> None:
        if self.tracer is not None:
            name, began = f"execute_tool {result.tool_name}", result.duration * 1_000_000
            error = None if result.success else "tool_error"
            attributes = spans.tool_attributes(result)
            self._trace(name, "INTERNAL", time.time_ns() - began, attributes, error)

    def _trace(
        self, name: str, kind: str, began: int, attributes: spans.Attributes, error: str | None
    ) -> None:
        assert self.tracer is not None
        span = self.tracer.start(name, kind, began, attributes, self.span)
        self.tracer.end(span, time.time_ns(), {}, error)


def _call_facts(
    message: Called, tokens: dict[str, int], ms: int, stopped: str
) -> dict[str, object]:
    """What is said of a model call: names and numbers, never content. `ms`: since the agent's step
    before."""
    cost = None if message.cost_usd is None else f"{message.cost_usd:f}"
    numbers = {**tokens, "cost_usd": cost, "ms": ms}
    return {"model": message.model, **numbers, "stop_reason": stopped}


def _count(
    metrics: Metrics, message: Called, tokens: dict[str, int], agent_id: str, stopped: str
) -> None:
    metrics.model_calls.add(1, message.model, stopped)
    metrics.agent_calls.add(1, agent_id)
    metrics.tokens.add_each(tokens, message.model)
    metrics.agent_tokens.add_each(tokens, agent_id)
    if message.cost_usd is None:
        metrics.unpriced.add(1, message.model)
    else:
        metrics.cost.add(float(message.cost_usd), message.model)
        metrics.agent_cost.add(float(message.cost_usd), agent_id)


def _message(watch: TurnWatch, message: k.Message) -> None:
    watch.add_chunks()
    if not message.model:  # nothing came back: the user was quicker
        return
    if watch.tracer is not None:
        watch.trace_call(spans.answer_attributes(message))
    watch.calling = message.stop_reason in GOES_ON
    watch.call_began = time.time_ns()


def _tool_result(watch: TurnWatch, result: k.ToolResult) -> None:
    if watch.ending:  # it did not answer: the turn ended without it
        watch.metrics.tool_calls.add(1, "interrupted")
    else:
        watch.metrics.tool_calls.add(1, "success" if result.success else "failed")
        watch.metrics.tool_seconds.observe(result.duration / 1000)
    watch.trace_tool(result)
    watch.call_began = time.time_ns()  # the model is asked again after the last of them


def _approval(watch: TurnWatch, question: k.ApprovalRequested) -> None:
    watch.outcome = "waiting"  # unless more comes


def _complete(watch: TurnWatch, complete: k.Complete) -> None:
    watch.outcome = complete.reason


def _error(watch: TurnWatch, error: k.Error) -> None:
    watch.outcome, watch.code = "error", error.code
    watch.metrics.errors.add(1, error.code)


def _tokens(message: Called) -> dict[str, int]:
    used = message.token_usage
    return {
        "input": used.input_tokens,
        "output": used.output_tokens,
        "cache_write": used.cache_write_tokens,
        "cache_read": used.cache_read_tokens,
    }


NOTES: dict[type, Callable[[TurnWatch, Any], None]] = {
    k.Message: _message,
    k.ToolResult: _tool_result,
    k.ApprovalRequested: _approval,
    k.Complete: _complete,
    k.Error: _error,
}
