"""Claude on other clouds: the SDK's clients for them, and how their streams are read."""

from turnlog.engines.claude.platforms.clients import PLATFORMS, Platform, Splitter

__all__ = ["PLATFORMS", "Platform", "Splitter"]
