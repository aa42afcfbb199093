"""The content blocks of the Messages API: who may say them, and which fields they have.

A test compares the tables with the types of Anthropic's SDK.
"""

from typing import Any, NamedTuple


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
_OF_A_DOCUMENT = "type cited_text document_index document_title"
CITATIONS: dict[str, frozenset[str]] = {type: frozenset(fields.split()) for type, fields in {
    "char_location":              f"{_OF_A_DOCUMENT} start_char_index end_char_index",
    "page_location":              f"{_OF_A_DOCUMENT} start_page_number end_page_number",
    "content_block_location":     f"{_OF_A_DOCUMENT} start_block_index end_block_index",
    "search_result_location":     "type cited_text search_result_index source title "
                                  "start_block_index end_block_index",
    "web_search_result_location": "type cited_text encrypted_index title url",
}.items()}
# fmt: on
# What citations have in answers, and may not have when they go back: "Extra inputs are not
# permitted" (github.com/anthropics/anthropic-sdk-python/issues/1450).
ONLY_IN_ANSWERS = frozenset({"file_id"})
# web_search_tool_result, mcp_tool_result, ...: every result that the provider's own tools give.
SERVER_RESULT = _kind("assistant", "tool_use_id content caller is_error cache_control")
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
THOUGHTS = ("thinking", "redacted_thinking")
MESSAGE_FIELDS = frozenset({"role", "content"})


def kind_of(type: str) -> Kind | None:
    """What is known of such a block."""
    return SERVER_RESULT if is_server_result(type) else KINDS.get(type)


def replayable(block: dict[str, Any]) -> dict[str, Any]:
    """A text of an answer as it may go back to the API."""
    cited = block.get("citations")
    if not cited or not any(ONLY_IN_ANSWERS & citation.keys() for citation in cited):
        return block
    taken = [{n: c[n] for n in c if n not in ONLY_IN_ANSWERS} for c in cited]
    return block | {"citations": taken}


def is_server_result(type: str) -> bool:
    return type.endswith("_tool_result")
