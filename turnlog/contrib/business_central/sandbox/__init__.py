"""A sandbox of Business Central's API v2.0 on loopback, with demo companies; its data may stay."""

from turnlog.contrib.business_central.sandbox.server import Failure, Sandbox

__all__ = ["Failure", "Sandbox"]
