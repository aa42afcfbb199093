"""A graph that somebody else wrote, as an engine: `create_app(graph=compiled)`.

Each turn is one run. It is told the history as `messages`; its state is the log's, so the graph's
own checkpointer is left aside. Tools run inside the graph, where not everybody is seen to begin:
what is open when the turn ends, however it does, is in doubt, unless its name says that it only
reads, or the graph had not come to its next step.
"""

import logging
import uuid
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import aclosing
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from turnlog.engines.langgraph.beginnings import Beginnings, Mark
from turnlog.engines.langgraph.conversation import conversation
from turnlog.engines.langgraph.pauses import (
    Interrupted,
    StateWriter,
    is_asking,
    message_of,
    packed,
    unpacked,
)
from turnlog.engines.langgraph.reading import Reading
from turnlog.errors import ConfigError, EngineFailed, TooManyCalls, TurnlogError
from turnlog.events import kinds as k
from turnlog.events.base import AgentRef
from turnlog.events.chunks import are_chunks
from turnlog.events.content import hash_of, idempotency_key
from turnlog.ports import (
    Agent,
    Ask,
    Batch,
    CallStarted,
    Hidden,
    Model,
    OpenCall,
    Prompt,
    ToolStarted,
    Verdict,
)
from turnlog.projections.tool_words import judge
from turnlog.speaking import guests
from turnlog.speaking.speakers import Batches

_log = logging.getLogger(__name__)
STEPS_A_CALL = 4  # of a graph
INTERRUPTED = "The server stopped while the graph ran. Please ask again."
_GONE_ON = k.EnginePaused(engine="langgraph", state="")


class GraphEngine:
    """Runs one compiled graph."""

    checks_edits = True  # its tools are its own: they check arguments that a person has changed

    def __init__(self, graph: Any, *, approval_timeout: float = 86_400.0) -> None:
        """Raises ConfigError for what is no compiled graph of messages."""
        if not hasattr(graph, "astream") or not hasattr(graph, "get_input_jsonschema"):
            raise ConfigError(f"{graph!r} is no compiled graph: call .compile() on it.")
        values = graph.get_input_jsonschema().get("properties", {})
        if "messages" not in values:
            raise ConfigError("The graph takes no `messages`: build it on MessagesState.")
        if more := sorted(values.keys() - {"messages"}):
            _log.warning(
                "the graph's state has %s beside `messages`: they begin anew with each turn."
                " Keep what must last in messages, or in a store of your own.",
                ", ".join(more),
            )
        self._graph = graph
        self._seconds = approval_timeout

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def answer(self, ask: Ask) -> Batches:
        root = next(iter(ask.team.agents.values()))
        opened = {each.call.tool_use_id: each for each in ask.open_calls}
        taken: Collection[str] = ()
        renamed: dict[str, str] = {}
        if not opened and not ask.answers:
            seat = await ask.team.seat(root.id)
            verdict = await ask.guard.before(seat.prompt, _UNCOUNTED, root.id)
            if records := [*seat.records, *verdict.records]:
                yield Batch(records)
            _obey(verdict)
            taken = seat.tool_ids
            given = {"messages": conversation(seat.prompt.messages)}
            run = _Run(given, InMemorySaver(serde=StateWriter()), str(uuid.uuid4()), {})
        elif _may_go_on(ask):
            assert ask.paused is not None
            saver, thread, asked, renamed = unpacked(ask.paused.state)
            decided = {call: each for call, each in asked.items() if _is_decided(call, ask)}
            run = _Run(_resume(decided, ask), saver, thread, asked)
            ask.standing.unseen = _unseen(opened, ask)
            yield Batch([*_starting(decided, opened, ask), _GONE_ON], root.ref)
            for batch in _own_results(decided, opened, ask):
                yield batch
        else:
            ask.standing.unseen = _unseen(opened, ask)
            raise EngineFailed("interrupted", INTERRUPTED, retryable=True)
        reading = Reading(root.ref, self._graph.name, opened, taken, renamed)
        async with aclosing(self._batches(run, ask, root, reading)) as batches:
            async for batch in batches:
                yield batch

    async def _batches(self, run: "_Run", ask: Ask, root: Agent, reading: Reading) -> Batches:
        calls = iter(range(ask.max_calls))
        async with aclosing(self._stream(run, ask)) as stream:
            async for part in stream:
                for batch in reading.feed(*part):
                    if reading.is_at_work and not are_chunks(batch.outputs):  # most are chunks
                        ask.standing.unseen = _unseen(reading.open_calls, ask)
                    if _begins(batch) and next(calls, None) is None:
                        raise TooManyCalls
                    yield batch
                    if (message := _message(batch)) is not None:
                        goes_on = message.stop_reason == "tool_use"
                        verdict = await ask.guard.after(goes_on=goes_on, agent_id=root.id)
                        if verdict.records:
                            yield Batch(verdict.records, batch.agent)
                        _obey(verdict)
                if not reading.is_at_work:  # the graph has waited for us: its next step begins now
                    ask.standing.unseen = _unseen(reading.open_calls, ask)
        for batch in reading.rest():
            yield batch
        waits = reading.interrupts
        for batch in self._pause(run, root.ref, reading, ask) if waits else reading.answer():
            yield batch

    async def _stream(self, run: "_Run", ask: Ask) -> AsyncGenerator[Any, None]:
        """(namespace, mode, payload) of all nodes. What goes wrong in them is told as ours."""
        graph = self._graph.copy({"checkpointer": run.saver})
        identity = {"user_id": ask.user_id, "session_id": ask.session_id}
        beginnings = Beginnings()
        config = {
            "callbacks": beginnings.callbacks,
            "configurable": {**identity, "thread_id": run.thread},
            "recursion_limit": STEPS_A_CALL * (ask.max_calls + 1),
        }
        modes = ["messages", "tasks", "custom"]
        guests.welcome()
        try:
            streaming = graph.astream(
                run.given, config, stream_mode=modes, subgraphs=True, durability="exit"
            )
            async with aclosing(streaming) as parts:
                async for part in parts:
                    yield part
                    if isinstance(part[2], Mark):
                        beginnings.reach(part[2])
        except GraphRecursionError:
            raise TooManyCalls from None
        except TurnlogError:
            raise
        except (Exception, *guests.ENDINGS) as error:
            _log.warning("the graph failed", exc_info=True)
            raise _failure(error) from None
        finally:
            beginnings.end()

    def _pause(self, run: "_Run", root: AgentRef, reading: Reading, ask: Ask) -> Iterator[Batch]:
        """The questions of the graph, and its state, for whoever goes on."""
        if error := getattr(run.saver.serde, "unwritable", None):
            _log.warning("the graph waits, and its state cannot be written", exc_info=error)
            raise _failure(error)
        waiting: dict[str, Interrupted] = {}
        asked_before = {each.id: call for call, each in run.asked.items()}
        questions: list[Batch] = []
        for each in reading.interrupts.values():
            opened = reading.open_calls.get(asked_before.get(each.id, ""))
            call = opened.call if opened else each.call or _of_middleware(each, reading)
            if call is None or (not opened and call.tool_use_id in {*waiting, *run.asked}):
                call = each.as_call()
                reading.open_calls[call.tool_use_id] = OpenCall(call=call, agent=root)
                yield Batch([message_of(call), call], root, call.tool_use_id)
            waiting[call.tool_use_id] = each
            if call.tool_use_id not in ask.standing.approvals:
                agent = reading.open_calls[call.tool_use_id].agent
                questions.append(Batch([each.question(call, self._seconds)], agent))
        state = packed(run.saver, run.thread, waiting, reading.renamed)
        yield Batch([k.EnginePaused(engine="langgraph", state=state)], root)
        yield from questions


class _Run:
    """One run of the graph: from the start, or on from where it waits."""

    def __init__(
        self, given: Any, saver: InMemorySaver, thread: str, asked: dict[str, Interrupted]
    ) -> None:
        self.given = given
        self.saver = saver
        self.thread = thread
        self.asked = asked  # by call, what was asked before


def _may_go_on(ask: Ask) -> bool:
    """Whether it waits for people, and nobody has gone on with it."""
    open_ids = {each.call.tool_use_id for each in ask.open_calls}
    is_paused = ask.paused is not None and ask.paused.state != _GONE_ON.state
    return is_paused and not (open_ids & ask.standing.started)


def _is_decided(call: str, ask: Ask) -> bool:
    approval = ask.standing.approvals.get(call)
    return approval is not None and approval.outcome != "pending"


def _resume(decided: dict[str, Interrupted], ask: Ask) -> Command[Any]:
    approvals = ask.standing.approvals
    return Command(resume={each.id: each.answer(approvals[c]) for c, each in decided.items()})


def _starting(
    decided: dict[str, Interrupted], opened: dict[str, OpenCall], ask: Ask
) -> list[ToolStarted]:
    """These are allowed, and may take effect from here on: a process that dies now leaves them in
    doubt."""
    approvals = ask.standing.approvals
    return [
        _started(opened[call].call, approvals[call].args, approvals[call].args_hash, ask)
        for call in decided
        if call in opened and approvals[call].outcome == "approved"
    ]


def _started(call: k.ToolUse, args: dict[str, Any], args_hash: str, ask: Ask) -> ToolStarted:
    return ToolStarted(
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        args=args,
        args_hash=args_hash,
        idempotency_key=idempotency_key(ask.session_id, call.tool_use_id, args_hash),
    )


def _own_results(
    decided: dict[str, Interrupted], opened: dict[str, OpenCall], ask: Ask
) -> Iterator[Batch]:
    """A call that stands for an interrupt alone is answered by the person's decision."""
    for call, each in decided.items():
        if call in opened and is_asking(opened[call].call):
            this = opened.pop(call)
            answer = each.answer(ask.standing.approvals[call])
            yield Batch([_result(this.call, answer)], this.agent)


def _result(call: k.ToolUse, value: Any) -> k.ToolResult:
    return k.ToolResult(
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        result=value,
        success=True,
        duration=0,
    )


def _unseen(opened: dict[str, OpenCall], ask: Ask) -> dict[str, ToolStarted]:
    """These may have begun."""
    return {
        call: _started(each.call, each.call.args, hash_of(each.call.args), ask)
        for call, each in opened.items()
        if not each.hidden and judge(each.call.tool_name).writes is not False
    }


def _of_middleware(each: Interrupted, reading: Reading) -> k.ToolUse | None:
    """The open call that LangChain's middleware asks about, if it is one and the same."""
    if each.actions is None or len(each.actions) != 1:
        return None
    wanted = (each.actions[0].get("name"), each.actions[0].get("args"))
    calls = [opened.call for opened in reading.open_calls.values()]
    alike = [call for call in calls if (call.tool_name, call.args) == wanted]
    return alike[0] if len(alike) == 1 else None


def _failure(error: BaseException) -> EngineFailed:
    """In words for the user. The error's own may hold secrets: they stay in the log."""
    status = getattr(error, "status_code", None)
    retryable = status in (408, 409, 429) or (isinstance(status, int) and status >= 500)
    kind = type(error.__cause__ if isinstance(error, guests.GuestEnded) else error)
    why = f"The graph failed ({kind.__name__})."
    return EngineFailed("graph_failed", why, retryable=retryable)


def _begins(batch: Batch) -> bool:
    return any(isinstance(output, CallStarted) for output in batch.outputs)


def _message(batch: Batch) -> k.Message | None:
    events = (o.event if isinstance(o, Hidden) else o for o in batch.outputs)
    return next((event for event in events if isinstance(event, k.Message)), None)


def _obey(verdict: Verdict) -> None:
    if verdict.refusal is not None:
        raise verdict.refusal


class _Uncounted:
    """Nobody counts the tokens of a graph before it runs."""

    async def count(self, prompt: Prompt) -> int:
        raise EngineFailed("not_counted", "A graph cannot count its tokens.")


_UNCOUNTED: Model = _Uncounted()  # type: ignore[assignment]  # a guard only counts with it
