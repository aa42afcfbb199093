"""Which model refuses what, and which models there are. A model that is not known takes all."""

from turnlog.projections.history.models import SINCE, has

CURRENT = ("claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")


def refuses(model: str, what: str) -> bool:
    """Whether the model takes this no longer, or does not take it yet."""
    if what in SINCE:
        return has(model, what) is False
    return f"refuses_{what}" in SINCE and has(model, f"refuses_{what}") is True


def described(model: str) -> dict[str, object]:
    """A model as the list of models tells it. Its date is not a real one."""
    return {
        "type": "model",
        "id": model,
        "display_name": f"{model.replace('-', ' ').title()} (simulated)",
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }
