"""More rules for blocks: no field that the API does not know, no thought that leads nowhere.

All of these have been reported as 400s of the API; the sentences are its own.
"""

from turnlog.projections.history.models import has

from .refusal import Placed, Request, refuse

CACHED = {"type", "cache_control"}
# fmt: off
FIELDS = {
    "text":              CACHED | {"text", "citations"},
    "image":             CACHED | {"source", "transformations"},
    "document":          CACHED | {"source", "title", "context", "citations"},
    "search_result":     CACHED | {"source", "title", "content", "citations"},
    "thinking":          {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "tool_use":          CACHED | {"id", "name", "input", "caller", "toolset_name"},
    "tool_result":       CACHED | {"tool_use_id", "content", "is_error", "toolset_name"},
    "server_tool_use":   CACHED | {"id", "name", "input", "caller"},
}
# fmt: on
DOCUMENT = {"type", "cited_text", "document_index", "document_title"}
CITATIONS = {  # no `file_id`, which answers have
    "char_location": DOCUMENT | {"start_char_index", "end_char_index"},
    "page_location": DOCUMENT | {"start_page_number", "end_page_number"},
    "content_block_location": DOCUMENT | {"start_block_index", "end_block_index"},
}
THINKING = ("thinking", "redacted_thinking")
MAX_IMAGES, MAX_IMAGES_BEFORE_1M = 600, 100


def fields_are_known(request: Request) -> None:
    for index, message in enumerate(request.messages):
        for name in message:
            if name not in ("role", "content"):
                refuse(f"messages.{index}.{name}: Extra inputs are not permitted")
    for at, _, _, block in request.nested:
        for name in block:
            if name not in FIELDS.get(block["type"], block):
                refuse(f"{at}.{block['type']}.{name}: Extra inputs are not permitted")
    for at, _, _, block in request.of("text"):
        for index, citation in enumerate(block.get("citations") or ()):
            type = citation["type"]
            for name in citation.keys() - CITATIONS.get(type, citation):
                place = f"{at}.text.citations.{index}.{type}.{name}"
                refuse(f"{place}: Extra inputs are not permitted")


def thoughts_lead_somewhere(request: Request) -> None:
    last = {placed.message: placed for placed in request.blocks if placed.role == "assistant"}
    for index, placed in last.items():
        if placed.block["type"] in THINKING:
            refuse(
                f"messages.{index}: The final block in an assistant message cannot be "
                f"`{placed.block['type']}`."
            )


def thoughts_need_thinking(request: Request) -> None:
    """In the final position: the assistant's last message, with nothing after it but results."""
    if (request.body.get("thinking") or {}).get("type") != "disabled":
        return
    for placed in _final_position(request):
        if placed.block["type"] in THINKING:
            refuse(
                f"{placed.at}: When thinking is disabled, an `assistant` message in the final "
                "position cannot contain `thinking`. To use thinking blocks, enable `thinking` "
                "in your request."
            )


def _final_position(request: Request) -> list[Placed]:
    final = len(request.messages) - 1
    if any(placed.message == final for placed in request.of("tool_result")):
        final -= 1
    return [p for p in request.blocks if (p.message, p.role) == (final, "assistant")]


def images_are_few(request: Request) -> None:
    is_small = has(request.body["model"], "long_context") is False
    most = MAX_IMAGES_BEFORE_1M if is_small else MAX_IMAGES
    images = sum(placed.block["type"] == "image" for placed in request.nested)
    if images > most:
        refuse(f"Too much media: 0 document pages + {images} images > {most}")


CHECKS = (fields_are_known, thoughts_lead_somewhere, thoughts_need_thinking, images_are_few)
