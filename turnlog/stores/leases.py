"""The lease of a turn: a token that its holder shows with every change.

Beginning or claiming a turn makes a fresh token, so that the holder before can write nothing
more. A turn that is over, or waits for a person, has none.
"""

import os
from typing import Any

import msgspec

from turnlog.errors import TurnOver
from turnlog.ports import Turn

NO_LEASE = ""
_BYTES = 8  # of a token: each row of `turns` keeps one


def leased(turn: Turn, **changes: Any) -> Turn:
    """The turn in new hands, changed in these ways too."""
    lease = os.urandom(_BYTES).hex()
    return msgspec.structs.replace(turn, state="running", lease=lease, **changes)


def lease_lost(turn: Turn) -> TurnOver:
    """What a holder is told whose token is not the turn's any more."""
    return TurnOver(f"Turn {turn.id!r} is over, waits, or is in other hands.")
