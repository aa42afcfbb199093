"""Conversations made and changed: what may be set, checked before it is stored."""

from collections.abc import Iterable
from typing import Any

from turnlog.errors import BadInput
from turnlog.events.clock import now
from turnlog.events.ids import new_id
from turnlog.pipeline.admission import check_budget, check_characters
from turnlog.ports import Agent, Session

MOST_TITLE = 200


def new_session(
    user_id: str, agent_id: str, title: str | None, session_id: str | None = None, **settings: Any
) -> Session:
    if title is not None:
        _check_title(title)
    return Session(
        id=session_id or new_id(),
        user_id=user_id,
        title=title or "",
        agent_id=agent_id,
        created_at=now(),
        **settings,
    )


def check_changes(changes: dict[str, Any], agents: Iterable[Agent] = ()) -> None:
    """Raises BadInput for what cannot be stored, or would do nothing."""
    if changes.get("web_search") and not any(agent.web_search for agent in agents):
        raise BadInput(
            "No agent of this server may search the web. Its operator allows it with"
            " Agent(..., web_search=True)."
        )
    if "title" in changes:
        _check_title(changes["title"])
    if "thinking_budget" in changes:
        check_budget(changes["thinking_budget"], "budgetTokens")


def _check_title(title: str) -> None:
    if not title.strip():
        raise BadInput("'title' is empty.")
    if len(title) > MOST_TITLE:
        raise BadInput(f"'title' is longer than {MOST_TITLE} characters.")
    check_characters(title, "title")
