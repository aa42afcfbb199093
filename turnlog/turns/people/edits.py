"""Checks arguments that a person changed, with the tool of the agent that made the call."""

from typing import Any

from turnlog.errors import BadInput, ContentErased, NotFound, ToolError
from turnlog.events import kinds as k
from turnlog.events.rows.erasure import shown
from turnlog.pipeline.parts import PartsFor
from turnlog.ports import Approval, EventLog, Standing, Store, Turn
from turnlog.ports.tools import CLIENT_RESULT, NOT_THE_CLIENTS
from turnlog.projections import words

PAGE = 100  # events that are read at once
MOST_WORDS = 300  # characters, as of any question to a person


async def check_edit(
    store: Store, parts_for: PartsFor, user_id: str, approval: Approval, args: dict[str, Any]
) -> str:
    """The call in words, with these arguments.

    Raises BadInput where the tool would not take them, and ContentErased where nobody can tell who
    made the call.
    """
    session = await store.get_session(user_id, approval.session_id)
    parts = parts_for(session, lambda batch: None, None)  # the call was made: it is there
    if getattr(parts.engine, "checks_edits", False):
        if CLIENT_RESULT in args:  # which would be taken for a yes
            raise BadInput(NOT_THE_CLIENTS)
        # It runs its tools itself, and they check what they are given.
        return f"{approval.tool_name}: {words.call(args)}"[:MOST_WORDS]
    agent = parts.member(await _asker(store, user_id, approval))
    turn = Turn(id=approval.turn_id, session_id=session.id, user_id=user_id)
    call = k.ToolUse(tool_use_id=approval.tool_use_id, tool_name=approval.tool_name, args=args)
    try:
        return (await parts.tools_for(agent, turn, Standing())).check(call)
    except ToolError as error:
        raise BadInput(str(error)) from None


async def _asker(log: EventLog, user_id: str, approval: Approval) -> str:
    """The id of the agent that made the call."""
    before, erased = None, False
    while page := await log.tail(user_id, approval.session_id, limit=PAGE, before=before):
        for row in reversed(page):
            if row.type == "tool_use":
                entry = shown(row)
                erased |= bool(entry.erased) and row.turn_id == approval.turn_id
                call = entry.event
                if isinstance(call, k.ToolUse) and call.tool_use_id == approval.tool_use_id:
                    return row.agent_id
        before = page[0].seq
    if erased:
        raise ContentErased
    raise NotFound(f"The call of approval {approval.id!r} is not in the log.")
