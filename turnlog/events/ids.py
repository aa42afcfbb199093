"""Ids: of what is stored, of answers, and of events."""

import hashlib
import os
import secrets
import time
import uuid

_SUMMARY = "sum_"
_URLS = uuid.NAMESPACE_URL.bytes
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


def new_id() -> str:
    """A UUID of the time and of chance: rows that are made one after the other lie side by side."""
    # RFC 9562, section 5.7: 48 bits are milliseconds.
    return _uuid(f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}", 7)


def named_id(name: str) -> str:
    """The same UUID for the same name, as `uuid.uuid5` makes it of a URL."""
    return _uuid(hashlib.sha1(_URLS + name.encode(), usedforsecurity=False).hexdigest(), 5)


def new_message_id() -> str:
    """An id for a message whose provider gave none, or one that is taken."""
    return f"msg_turnlog_{secrets.token_hex(12)}"


def new_summary_id(message_id: str) -> str:
    """An id for a summary that names the provider's answer, and is new where that is not."""
    return f"{_SUMMARY}{message_id}.{secrets.token_hex(4)}"


def provider_id(message_id: str) -> str:
    """What the provider called an answer or a summary, as far as its id here tells."""
    return message_id.removeprefix(_SUMMARY).partition(".")[0]


def new_stem() -> str:
    """The first four parts of a UUID, by chance: a counter is the fifth."""
    # RFC 9562, section 5.8: version 8 leaves the bits to us.
    bits = os.urandom(9).hex()
    return f"{bits[:8]}-{bits[8:12]}-8{bits[12:15]}-a{bits[15:18]}"


def _uuid(bits: str, version: int) -> str:
    # RFC 9562, section 4: a version, and a variant of 8, 9, a or b. Through `uuid.UUID` it takes
    # three times as long, and every turn has three of them.
    third, fourth = f"{version}{bits[13:16]}", f"{_VARIANT[bits[16]]}{bits[17:20]}"
    return f"{bits[:8]}-{bits[8:12]}-{third}-{fourth}-{bits[20:32]}"
