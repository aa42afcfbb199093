"""Small events, sessions and logs to test with. Whatever is not given is made up, and unique."""

import uuid
from collections.abc import Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Envelope, Event, Stamped
from turnlog.events.content import Block, TokenUsage, hash_of, idempotency_key, usage_of
from turnlog.ports import Session, Store, ToolStarted, Turn

AGENT = AgentRef(id="assistant", name="Assistant")
AT = "2026-11-15T12:00:00.000Z"


def new_session(id: str = "s", user_id: str = "alice") -> Session:
    return Session(id=id, user_id=user_id, title="A talk", agent_id="assistant", created_at=AT)


def new_turn(
    id: str = "t", session_id: str = "s", user_id: str = "alice", request_id: str | None = None
) -> Turn:
    return Turn(
        id=id,
        session_id=session_id,
        user_id=user_id,
        state="running",
        first_seq=0,
        started_at=AT,
        request_id=request_id,
    )


def fresh(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"


def text(said: str) -> Block:
    return {"type": "text", "text": said}


def call(id: str, name: str = "look", **args: Any) -> Block:
    return {"type": "tool_use", "id": id, "name": name, "input": args}


def asked(content: str = "Hello") -> k.UserMessageSent:
    return k.UserMessageSent(message_id=fresh("user"), content=content)


def said(*blocks: Block | str, stop: str = "end_turn", id: str | None = None) -> k.Message:
    """An answer; a plain string stands for a text block."""
    reported = {"input_tokens": 10, "output_tokens": 5}
    return k.Message(
        message_id=id or fresh("msg"),
        blocks=[text(b) if isinstance(b, str) else b for b in blocks],
        stop_reason=stop,
        model="claude-sonnet-5-5",
        token_usage=usage_of(reported),
        reported=reported,
    )


def searched(times: int, id: str | None = None) -> k.Message:
    """An answer after so many web searches, as the API bills them."""
    reported = {"server_tool_use": {"web_search_requests": times}}
    return replace(said("Found.", id=id), reported=reported, token_usage=usage_of(reported))


def used(id: str, name: str = "look", **args: Any) -> k.ToolUse:
    return k.ToolUse(tool_use_id=id, tool_name=name, args=args)


def result(id: str, value: Any = "seen", name: str = "look") -> k.ToolResult:
    return k.ToolResult(tool_use_id=id, tool_name=name, result=value, success=True, duration=1)


def failed(id: str, error: str = "it broke", name: str = "look") -> k.ToolResult:
    return k.ToolResult(
        tool_use_id=id, tool_name=name, result=None, success=False, duration=1, error=error
    )


def unclear(id: str, name: str = "look") -> k.ToolResult:
    return k.ToolResult(
        tool_use_id=id, tool_name=name, result=None, success=False, duration=1, in_doubt=True
    )


def approval(id: str, tool: str, name: str = "look") -> k.ApprovalRequested:
    return k.ApprovalRequested(
        approval_id=id,
        tool_use_id=tool,
        tool_name=name,
        args={},
        description="Look at it.",
        expires_at=AT,
    )


def decision(id: str, approved: bool = True) -> k.ApprovalResolved:
    outcome = "approved" if approved else "rejected"
    return k.ApprovalResolved(
        approval_id=id, approved=approved, decided_by="alice", outcome=outcome
    )


def started(tool: str, name: str = "look", **args: Any) -> ToolStarted:
    return ToolStarted(
        tool_use_id=tool,
        tool_name=name,
        args=args,
        args_hash=hash_of(args),
        idempotency_key=idempotency_key("s", tool, hash_of(args)),
    )


def broke(error: str = "The model is overloaded.") -> k.Error:
    return k.Error(error=error, code="overloaded", retryable=True)


def completed() -> k.Complete:
    return k.Complete(
        reason="success", stop_reason="end_turn", token_usage=TokenUsage(), model="", tools_used=[]
    )


def placed(*events: Event, first_index: int = 0, agent: AgentRef = AGENT) -> list[Envelope]:
    """The events with a place in their turn, as the pipeline hands them to the log."""
    indexes = count(first_index)
    return [
        Envelope(
            event=event,
            event_id=str(uuid.uuid4()),
            time=AT,
            agent=agent,
            index=None if event.internal else next(indexes),
            internal=event.internal,
            kept=event.kept,
        )
        for event in events
    ]


def log_of(*turns: Sequence[Event], session_id: str = "s") -> list[Stamped]:
    """A session's log: each argument is a turn, t0, t1, ...; numbers count from 0."""
    numbers = count()
    return [
        Stamped(session_id=session_id, turn_id=f"t{index}", envelope=at, seq=seq, position=seq)
        for index, turn in enumerate(turns)
        for at, seq in zip(placed(*turn), numbers, strict=False)
    ]


async def keep(store: Store, *turns: Sequence[Event], session: Session | None = None) -> None:
    """Put a session with these whole turns, t0, t1, ..., into the store."""
    session = session or new_session()
    await store.create_session(session)
    for index, (first, *rest) in enumerate(turns):
        turn = new_turn(f"{session.id}.t{index}", session.id, session.user_id)
        turn = await store.begin_turn(turn, placed(first))
        await store.append(turn, placed(*rest, first_index=1))
        if not any(isinstance(event, k.Error) for event in rest):  # which ends a turn
            await store.finish_turn(turn)
