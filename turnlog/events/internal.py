"""Which tools are infrastructure: one registry, for the server and (by /api/config) the UI."""

INTERNAL_PREFIXES = ("transfer_to_", "transfer_back_to_", "handoff_to_", "route_to_")


def is_internal_tool(name: str) -> bool:
    """Hand-offs and routing are kept for the audit, never shown, never counted as tools used."""
    return name.startswith(INTERNAL_PREFIXES)
