"""What a user interface is told before it asks anything: `/api/config`."""

from collections.abc import Iterable
from typing import Any

from turnlog.config import Settings
from turnlog.ports import Agent
from turnlog.tools.mcp.source import KnownTool


def settings(settings: Settings) -> dict[str, Any]:
    return {
        "model": settings.model,
        "simulated": settings.simulated,
        "limits": {
            "maxCharacters": settings.max_characters,
            "maxTokens": settings.max_tokens,
            "turnsAtOnce": settings.turns_at_once,
            "messagesAMinute": settings.messages_a_minute,
            "searchesASession": settings.searches_a_session,
            "imageBytes": settings.image_bytes,
            "pdfBytes": settings.pdf_bytes,
            "documentBytes": settings.document_bytes,
            "filesQuota": settings.files_quota,
            "turnTimeout": settings.turn_timeout,
            "approvalTimeout": settings.approval_timeout,
        },
    }


def agent(agent: Agent, tools: Iterable[KnownTool]) -> dict[str, Any]:
    return {
        "id": agent.id,
        "name": agent.ref.name,
        "description": agent.description,
        "model": agent.model,
        "webSearch": agent.web_search,
        "tools": [
            {"name": tool.name, "title": tool.title, "writes": tool.writes} for tool in tools
        ],
    }
