"""What an agent's prompt is made of, but for the log."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from turnlog.events.base import Stamped
from turnlog.events.content import Block
from turnlog.pipeline.admission import Limits
from turnlog.pipeline.context.prefixes import Prefix
from turnlog.ports import (
    Agent,
    Prompt,
    Question,
    Session,
    Told,
    ToolBox,
    ToolSpec,
    handover_tool,
)
from turnlog.projections.history.attachments import FILE_TOOL, named, needs_tool, plan
from turnlog.projections.history.fold import tell
from turnlog.projections.history.window.opening import Opening


class Desk(msgspec.Struct, frozen=True):
    """Of one agent, for one turn."""

    agent: Agent
    team: Mapping[str, Agent]
    question: Question
    session: Session
    tools: ToolBox
    limits: Limits
    system: str  # the agent's prompt for this turn

    @property
    def model(self) -> str:
        return self.agent.model or self.limits.model

    @property
    def searches(self) -> int | None:
        """How many are left, where both the agent and the user allow it."""
        if not (self.agent.web_search and self.session.web_search):
            return None
        return max(0, self.limits.searches - self.session.searches)

    def specs(self, files: Sequence[Told], opening: Opening) -> list[ToolSpec]:
        """Its tools, the one that reads files where there is something to read, hand-overs."""
        specs = [*self.tools.specs]
        has_files = files or opening.files
        if has_files and (needs_tool(files) or opening.readable) and not _can_read_files(specs):
            specs.append(FILE_TOOL)
        return [*specs, *_handovers(self.agent, self.team)] if self.agent.hands_over_to else specs

    def prefix(self, specs: list[ToolSpec]) -> Prefix:
        searches = self.searches
        return Prefix(self.model, self.system, "on" if searches else searches, specs)

    def prompt(
        self, specs: Sequence[ToolSpec], messages: list[dict[str, Any]], container: str | None
    ) -> Prompt:
        return Prompt(
            model=self.model,
            system=self.system,
            messages=messages,
            max_tokens=_most_tokens(self.question, self.limits),
            sampling=self.question.sampling,
            tools=specs,
            thinking_budget=self._thinking_budget(),
            searches=self.searches,
            output_schema=self.agent.output_schema,
            container=container,
        )

    def _thinking_budget(self) -> int | None:
        if not self.agent.thinking or not _thinks(self.question, self.session):
            return None
        return self.question.thinking_budget or self.session.thinking_budget

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


def _handovers(agent: Agent, team: Mapping[str, Agent]) -> Iterator[ToolSpec]:
    """The tools by which the agent hands over to others."""
    reason = {"type": "string", "description": "What that agent is to do, in a sentence."}
    schema = {"type": "object", "properties": {"reason": reason}, "required": ["reason"]}
    for agent_id in agent.hands_over_to:
        other = team[agent_id]
        about = f"Hand over to {other.ref.name}. {other.description}".strip()
        name = handover_tool(agent_id)
        yield ToolSpec(name=name, description=about, input_schema=schema)


def _most_tokens(question: Question, limits: Limits) -> int:
    wished = question.sampling.max_tokens if question.sampling else None
    return min(wished, limits.max_tokens) if wished else limits.max_tokens


def _thinks(question: Question, session: Session) -> bool:
    """The message's own wish first, then what is set for the session."""
    wanted = question.enable_thinking
    return session.thinking_enabled if wanted is None else wanted
