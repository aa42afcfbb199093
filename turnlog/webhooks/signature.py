"""Signatures as Standard Webhooks has them (https://www.standardwebhooks.com), in a few lines."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

from turnlog.webhooks.endpoint import PREFIX


def headers(keys: Sequence[bytes], id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """What goes with the body: who reads it can prove that it is ours, and new."""
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        # "the signature is a space delimited list", one for each secret
        "webhook-signature": " ".join(_signature(key, id, timestamp, body) for key in keys),
    }


def _signature(key: bytes, id: str, timestamp: int, body: bytes) -> str:
    # "msg_id.timestamp.payload", HMAC-SHA256, base64, after "v1,"
    signed = b"%s.%d.%s" % (id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
