"""A sandbox of Business Central's API v2.0 on loopback, in memory, with demo companies."""

from turnlog.contrib.business_central.sandbox.server import Failure, Sandbox

__all__ = ["Failure", "Sandbox"]
