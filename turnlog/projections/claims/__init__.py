"""Claims of an answer, compared with what its turn did. `check` is where to begin."""

from turnlog.projections.claims.check import MOST_BEFORE, Finding, by_turn, may_claim, unfounded

__all__ = ["MOST_BEFORE", "Finding", "by_turn", "may_claim", "unfounded"]
