"""turnlog: an agent server whose every step is an event in a gap-free log.

from turnlog import Agent, create_app, tool
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnlog.app import Turnlog as Turnlog
    from turnlog.app import create_app as create_app
    from turnlog.config import Settings as Settings
    from turnlog.errors import ToolError as ToolError
    from turnlog.events.search_results import SearchResult as SearchResult
    from turnlog.events.search_results import SearchResults as SearchResults
    from turnlog.ports import Agent as Agent
    from turnlog.ports import Decision as Decision
    from turnlog.ports import PromptContext as PromptContext
    from turnlog.ports import TurnResult as TurnResult
    from turnlog.tools.mcp.server import McpServer as McpServer
    from turnlog.tools.tool import ToolContext as ToolContext
    from turnlog.tools.tool import tool as tool

_PLACES = {
    "Agent": "ports",
    "Decision": "ports",
    "McpServer": "tools.mcp.server",
    "SearchResult": "events.search_results",
    "SearchResults": "events.search_results",
    "PromptContext": "ports",
    "Settings": "config",
    "ToolContext": "tools.tool",
    "ToolError": "errors",
    "TurnResult": "ports",
    "Turnlog": "app",
    "create_app": "app",
    "tool": "tools.tool",
}
__all__ = sorted(_PLACES)


def __dir__() -> list[str]:
    """What a shell completes: names that are not imported yet, too."""
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command line starts fast."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'turnlog' has no attribute {name!r}")
    return getattr(import_module(f"turnlog.{_PLACES[name]}"), name)
