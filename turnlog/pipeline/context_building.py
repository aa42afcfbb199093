"""Stage 1. What the model is told.

In:  the user's question, the session, the agent and its tools.
Out: a Seat: the agent with its prompt, and what is to be recorded about the history in it: that
     the anchor moves, what was repaired.
"""

from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from functools import partial

from turnlog.events.content import Block
from turnlog.pipeline.citing import sources_in
from turnlog.pipeline.context.desk import Desk
from turnlog.pipeline.context.moving import Mover, Summarizing, moved
from turnlog.pipeline.context.windows import SessionWindow, Windows
from turnlog.ports import (
    NO_ATTACHMENTS,
    Agent,
    Attachments,
    Excerpts,
    OpenCall,
    PromptContext,
    Seat,
    Session,
    Told,
)
from turnlog.projections.citations import Source
from turnlog.projections.history.attachments import tokens_of
from turnlog.projections.history.window.size import room_for


async def build_context(
    desk: Desk,
    log: Excerpts,
    open_calls: Sequence[OpenCall] = (),
    *,
    attachments: Attachments = NO_ATTACHMENTS,
    summarizing: Summarizing | None = None,
    shorter: bool = False,
    windows: Windows | None = None,
) -> tuple[Seat, str]:
    """The agent with all that it is told, and the fingerprint of what stands before that.

    Reads only from the anchor on, and of `windows` only what came since: a long session costs no
    more than a short one. `open_calls` are those of a turn that goes on, whose results come next.
    `summarizing`: who summarizes what leaves the window; None: the window stays where it is,
    because somebody has answered already. `shorter`: the model could not take in what was built
    before; without a move of the anchor in return, it cannot be told less.
    """
    windows = Windows(0) if windows is None else windows
    agent, session, limits, model = desk.agent, desk.session, desk.limits, desk.model
    known = SessionWindow(windows, log, session, agent.id)
    window = await known.take()
    mover = summarizing and Mover(
        room_for(model, limits.history_tokens, limits.max_tokens),
        agent.id,
        model,
        *summarizing,
        known.read,
        desk.as_it_was_told,
    )
    files = window.plan(model)
    move = await moved(window, mover, shorter=shorter, files=tokens_of(files))
    if move.moved:
        window = move.window
        files = window.plan(model)
    blocks, sources = await _blocks(files, session.user_id, attachments) if files else ({}, {})
    specs = desk.specs(files, window.opening)
    prefix = windows.prefixes.fingerprint(agent.id, desk.prefix(specs))
    answered = {each.call.tool_use_id for each in open_calls if each.agent.id == agent.id}
    telling = window.tell(prefix, blocks, answered)
    if telling is None:
        window = await known.take(anew=True)
        telling = window.tell(prefix, blocks, answered)
        assert telling is not None, "it was told nothing before"
    repaired = window.newly_repaired(telling.repaired) if telling.repaired else None
    seat = Seat(
        agent=agent,
        prompt=desk.prompt(specs, telling.messages, window.open_container(datetime.now(UTC))),
        tools=desk.tools,
        records=[*move.records, *([repaired] if repaired else [])],
        tool_ids=frozenset(window.tool_ids),
        known_only=window.mended_in_full,
        clean=window.clean,
        sources=partial(sources_in, telling.messages, sources),
    )
    if not move.moved:  # one that has moved is read from its new anchor next time
        known.keep(window)
    return seat, prefix


async def _blocks(
    files: Sequence[Told], user_id: str, attachments: Attachments
) -> tuple[dict[str, list[Block]], dict[int, Source]]:
    """By message: its files, then what is said about those that are not there. By the identity
    of its source: which file a block is.
    """
    blocks: dict[str, list[Block]] = {}
    sources: dict[int, Source] = {}
    for told, made in zip(files, await attachments.blocks(user_id, files), strict=True):
        blocks.setdefault(told.message_id, []).extend(made)
        source = Source(told.facts["id"], told.facts["name"])
        sources |= {id(block["source"]): source for block in made if "source" in block}
    in_order = {
        message: sorted(each, key=lambda block: bool(block["type"] == "text"))
        for message, each in blocks.items()
    }
    return in_order, sources


async def prompt_of(agent: Agent, session: Session) -> str:
    """The agent's prompt for the user of this session; a function is asked for it."""
    if isinstance(agent.prompt, str):
        return agent.prompt
    made = agent.prompt(PromptContext(user_id=session.user_id, session=session, deps=agent.deps))
    text = await made if isinstance(made, Awaitable) else made
    if not isinstance(text, str):
        raise TypeError(f"the prompt of agent {agent.id!r} is {type(text).__name__}")
    return text
