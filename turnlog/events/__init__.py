"""The vocabulary: what can happen, what it is made of, and in which order."""

from turnlog.events.base import AgentRef, Envelope, Event, Stamped, Value
from turnlog.events.content import TokenUsage

__all__ = ["AgentRef", "Event", "Envelope", "Stamped", "TokenUsage", "Value"]
