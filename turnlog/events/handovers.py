"""Names that the server gives to the tools by which agents hand over to each other.

One registry, for the server and (by /api/config) the user interface. Nobody else's tool may have
such a name: it would be taken for a hand-over.
"""

HANDOVER = "transfer_to_"  # and the id of the agent that takes over
RESERVED_PREFIXES = (HANDOVER, "transfer_back_to_")


def is_reserved(tool_name: str) -> bool:
    return tool_name.startswith(RESERVED_PREFIXES)
