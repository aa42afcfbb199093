"""Claims of an answer, compared with what its turn did. `check` is where to begin."""

from turnlog.projections.claims.check import (
    Finding,
    by_turn,
    may_claim,
    unfounded,
)

__all__ = ["Finding", "by_turn", "may_claim", "unfounded"]
