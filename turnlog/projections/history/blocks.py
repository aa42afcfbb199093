"""The content blocks of the Messages API: who may say them, and which fields they have.

A test compares the table with the types of Anthropic's SDK.
"""

from typing import NamedTuple


class Kind(NamedTuple):
    """Who says such a block (None: both), and its fields beside `type`."""

    role: str | None
    fields: frozenset[str]


def _kind(role: str | None, fields: str) -> Kind:
    return Kind(role, frozenset(fields.split()))


# fmt: off
KINDS: dict[str, Kind] = {
    "text":              _kind(None, "text citations cache_control"),
    "image":             _kind("user", "source transformations cache_control"),
    "document":          _kind("user", "source title context citations cache_control"),
    "search_result":     _kind("user", "source title content citations cache_control"),
    "tool_result":       _kind("user", "tool_use_id toolset_name content is_error cache_control"),
    "container_upload":  _kind(None, "file_id cache_control"),
    "tool_addition":     _kind(None, "tool cache_control"),
    "tool_removal":      _kind(None, "tool cache_control"),
    "thinking":          _kind("assistant", "thinking signature"),
    "redacted_thinking": _kind("assistant", "data"),
    "tool_use":          _kind("assistant", "id name input caller toolset_name cache_control"),
    "server_tool_use":   _kind("assistant", "id name input caller cache_control"),
    "mcp_tool_use":      _kind("assistant", "id name input server_name cache_control"),
    "mcp_tool_listing":  _kind("assistant", "mcp_server_name tools"),
    "compaction":        _kind("assistant", "content encrypted_content signature tool_changes "
                                            "cache_control"),
    "fallback":          _kind("assistant", "from to trigger"),
}
# fmt: on
# web_search_tool_result, mcp_tool_result, ...: every result that the provider's own tools give.
SERVER_RESULT = _kind("assistant", "tool_use_id content caller is_error cache_control")
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
THOUGHTS = ("thinking", "redacted_thinking")
MESSAGE_FIELDS = frozenset({"role", "content"})


def kind_of(type: str) -> Kind | None:
    """What is known of such a block."""
    return SERVER_RESULT if is_server_result(type) else KINDS.get(type)


def is_server_result(type: str) -> bool:
    return type.endswith("_tool_result")
