"""Stage 1. What the model is told.

In:  the user's question, the session, the agent and its tools.
Out: a Seat: the agent with its prompt, and what is to be recorded about the history in it: that
     the anchor moves, what was repaired.
"""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from turnlog.events.base import Stamped
from turnlog.events.content import Block
from turnlog.pipeline.admission import Limits
from turnlog.pipeline.citing import sources_in
from turnlog.pipeline.context.moving import Mover, moved
from turnlog.pipeline.context.prefixes import Prefix
from turnlog.pipeline.context.windows import SessionWindow, Windows
from turnlog.ports import (
    NO_ATTACHMENTS,
    Agent,
    Attachments,
    CallGuard,
    Excerpts,
    OpenCall,
    Prompt,
    PromptContext,
    Question,
    Seat,
    Session,
    Summarizer,
    Told,
    ToolBox,
    ToolSpec,
    handover_tool,
)
from turnlog.projections.citations import Source
from turnlog.projections.history.attachments import FILE_TOOL, named, needs_tool, plan, tokens_of
from turnlog.projections.history.fold import tell
from turnlog.projections.history.window.opening import Opening
from turnlog.projections.history.window.size import room_for


async def build_context(
    agent: Agent,
    team: Mapping[str, Agent],
    question: Question,
    session: Session,
    tools: ToolBox,
    log: Excerpts,
    limits: Limits,
    open_calls: Sequence[OpenCall] = (),
    *,
    attachments: Attachments = NO_ATTACHMENTS,
    system: str,
    summarizing: tuple[Summarizer, CallGuard] | None = None,
    shorter: bool = False,
    windows: Windows | None = None,
) -> tuple[Seat, str]:
    """The agent with all that it is told, and the fingerprint of what stands before that.

    Reads only from the anchor on, and of `windows` only what came since: a long session costs no
    more than a short one. `open_calls` are those of a turn that goes on, whose results come next.
    `system` is the agent's prompt for this turn. `summarizing`: who summarizes what leaves the
    window; None: the window stays where it is, because somebody has answered already. `shorter`:
    the model could not take in what was built before; without a move of the anchor in return, it
    cannot be told less.
    """
    windows = Windows(0) if windows is None else windows
    known = SessionWindow(windows, log, session, agent.id)
    window = await known.take()
    desk = _Desk(
        *(agent, team, question, session, tools, limits, system),
        model=agent.model or limits.model,
        searches=_searches(session, agent, limits),
    )
    mover = summarizing and Mover(
        room_for(desk.model, limits.history_tokens, limits.max_tokens),
        agent.id,
        desk.model,
        *summarizing,
        known.read,
        desk.as_it_was_told,
    )
    files = window.plan(desk.model)
    move = await moved(window, mover, shorter=shorter, files=tokens_of(files))
    if move.moved:
        window = move.window
        files = window.plan(desk.model)
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
        tools=tools,
        records=[*move.records, *([repaired] if repaired else [])],
        tool_ids=frozenset(window.tool_ids),
        known_only=window.mended_in_full,
        clean=window.clean,
        sources=partial(sources_in, telling.messages, sources),
    )
    if not move.moved:  # one that has moved is read from its new anchor next time
        known.keep(window)
    return seat, prefix


class _Desk(msgspec.Struct, frozen=True):
    """All that a prompt is made of, but for the log."""

    agent: Agent
    team: Mapping[str, Agent]
    question: Question
    session: Session
    tools: ToolBox
    limits: Limits
    system: str
    model: str
    searches: int | None  # how many are left

    def specs(self, files: Sequence[Told], opening: Opening) -> list[ToolSpec]:
        """Its tools, the one that reads files where there is something to read, hand-overs."""
        specs = [*self.tools.specs]
        has_files = files or opening.files
        if has_files and (needs_tool(files) or opening.readable) and not _can_read_files(specs):
            specs.append(FILE_TOOL)
        return [*specs, *_handovers(self.agent, self.team)] if self.agent.hands_over_to else specs

    def prefix(self, specs: list[ToolSpec]) -> Prefix:
        return Prefix(self.model, self.system, "on" if self.searches else self.searches, specs)

    def prompt(
        self, specs: Sequence[ToolSpec], messages: list[dict[str, Any]], container: str | None
    ) -> Prompt:
        thinks = self.agent.thinking
        return Prompt(
            model=self.model,
            system=self.system,
            messages=messages,
            max_tokens=_most_tokens(self.question, self.limits),
            sampling=self.question.sampling,
            tools=specs,
            thinking_budget=_budget(self.question, self.session) if thinks else None,
            searches=self.searches,
            output_schema=self.agent.output_schema,
            container=container,
        )

    def as_it_was_told(self, events: Sequence[Stamped], opening: Opening) -> Prompt:
        """A part of the window, as the agent was told it before; but its files by name. It is to
        be summarized: nobody goes on from its last word.
        """
        files = plan(events, self.model)
        specs = self.specs(files, opening)
        names: dict[str, list[Block]] = {}
        for each in files:
            names.setdefault(each.message_id, []).append(
                {"type": "text", "text": named(each.facts)}
            )
        prefix = self.prefix(specs).fingerprint
        telling = tell(
            events, self.agent.id, prefix=prefix, files=names, opening=opening, ended=True
        )
        return self.prompt(specs, telling.messages, None)


def _can_read_files(specs: Sequence[ToolSpec]) -> bool:
    return any(spec.name == FILE_TOOL.name for spec in specs)


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


def _handovers(agent: Agent, team: Mapping[str, Agent]) -> Iterator[ToolSpec]:
    """The tools by which the agent hands over to others."""
    reason = {"type": "string", "description": "What that agent is to do, in a sentence."}
    schema = {"type": "object", "properties": {"reason": reason}, "required": ["reason"]}
    for agent_id in agent.hands_over_to:
        other = team[agent_id]
        about = f"Hand over to {other.ref.name}. {other.description}".strip()
        name = handover_tool(agent_id)
        yield ToolSpec(name=name, description=about, input_schema=schema)


def _searches(session: Session, agent: Agent, limits: Limits) -> int | None:
    """How many are left, where both the agent and the user allow it."""
    if not (agent.web_search and session.web_search):
        return None
    return max(0, limits.searches - session.searches)


def _most_tokens(question: Question, limits: Limits) -> int:
    wished = question.sampling.max_tokens if question.sampling else None
    return min(wished, limits.max_tokens) if wished else limits.max_tokens


def _budget(question: Question, session: Session) -> int | None:
    """The message's own wish first, then what is set for the session."""
    wanted = question.enable_thinking
    if not (session.thinking_enabled if wanted is None else wanted):
        return None
    return question.thinking_budget or session.thinking_budget
