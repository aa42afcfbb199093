"""The seal of a row of the log: a hash over the row before, this one, and whose session it is.

Without a key everybody can compute it: it finds what was changed by mistake, or by somebody who
did not think of it. With a key only who has the key can make a seal that holds. What nobody can
find in the database alone, a log that was cut off or is not there any more, an auditor finds who
kept the heads (`turnlog heads`).

Forms of seals, oldest first. A log never goes back to an older one.
  1  over the body             2  over the digest of the body
  3  and over the owner        4, 5, …  the same, with the first key, the second, …
"""

import hashlib
from collections.abc import Sequence

import msgspec

from turnlog.events.rows.record import Record, Seal, has_its_body, sealed

KEYED = 4
LEAST_KEY = 32  # characters


class Seals:
    """Makes seals, and says whether they hold."""

    def __init__(self, key: str | None = None, since: str = "", old: Sequence[str] = ()) -> None:
        """`since`: what was written before that time, RFC 3339, may be sealed without a key.

        `old`: the keys before this one, oldest first.
        """
        self._keys = [_key(text) for text in (*old, key) if text]
        self._key = _key(key) if key else b""
        self._since = since

    def seal(self, row: Record, before: bytes, owner: str) -> bytes:
        """The hash over the row before, the owner, the envelope of this row and its digest."""
        return _with_owner(row, before, owner, self._key)

    def of(self, owner: str) -> Seal:
        """How the rows of this owner's session are sealed."""
        key = self._key
        return lambda envelope, digest, before: _hash(envelope, digest, before, owner, key)

    def form(self, row: Record, before: bytes, owner: str) -> int | None:
        """How the row is sealed after `before`; None: it is not what was written."""
        try:
            if row.digest is not None and not row.is_erased and not has_its_body(row):
                return None
            if row.digest is None:
                return 1 if sealed(row, before) == row.seal else None
            for age, key in enumerate(self._keys):
                if _with_owner(row, before, owner, key) == row.seal:
                    return KEYED + age
            if _with_owner(row, before, owner, b"") == row.seal:
                return 3
            return 2 if sealed(row, before) == row.seal else None
        except (TypeError, ValueError):  # a field is not even of the type that was written
            return None

    def mark(self, values: Sequence[object], before: bytes) -> bytes:
        """The seal of a row of another log, after the one before it."""
        return _marked(values, before, self._key)

    def has_mark(self, seal: bytes, values: Sequence[object], before: bytes) -> bool:
        """Whether the row was sealed with one of the keys."""
        return any(_marked(values, before, key) == seal for key in self._keys or [b""])

    def least(self, row: Record) -> int:
        """The oldest form that this row may have."""
        return KEYED if self._key and str(row.at) >= self._since else 1


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode()).digest()


def _marked(values: Sequence[object], before: bytes, key: bytes) -> bytes:
    content = msgspec.json.encode(values)
    return hashlib.blake2b(before + content, digest_size=16, key=key).digest()


def _with_owner(row: Record, before: bytes, owner: str, key: bytes) -> bytes:
    assert row.digest is not None
    return _hash(row.envelope, row.digest, before, owner, key)


def _hash(
    envelope: tuple[object, ...], digest: bytes, before: bytes, owner: str, key: bytes
) -> bytes:
    content = msgspec.json.encode((3, owner, *envelope)) + digest
    return hashlib.blake2b(before + content, digest_size=16, key=key).digest()
