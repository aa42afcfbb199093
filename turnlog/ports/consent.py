"""When a person is asked before a tool runs, and who may decide. Both are rules in words.

A word that nobody knows is refused where it is written; one that gets here all the same means
that a person is asked, and that nobody may decide: the question expires.
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Literal, get_args

from turnlog.errors import ConfigError
from turnlog.ports.user import User, is_role

ApprovalRule = Literal["always", "never", "writes"]
RULES: tuple[str, ...] = get_args(ApprovalRule)
ASKER = "asker"
# fmt: off
# The first part of an approver's rule -> who may decide: (user, asker, role). With a role after a
# colon where the rule has one: "role:finance".
_APPROVERS: dict[str, Callable[[User, str, str], bool]] = {
    "asker":   lambda user, asker, role: user.id == asker,
    "others":  lambda user, asker, role: user.id != asker and _has(user, role),
    "role":    lambda user, asker, role: _has(user, role),
}
# fmt: on
APPROVERS = ("asker", "others", "role:NAME", "others:NAME")


def may_decide(rule: str, asker: str, user: User) -> bool:
    """Whether the user may decide what the asker's turn waits for."""
    who, _, role = rule.partition(":")
    return is_approver(rule) and _APPROVERS[who](user, asker, role)


def may_change(rule: str) -> bool:
    """Whether who decides may change the arguments. Under four eyes, only two would have seen what
    runs: those of the one who changed it."""
    return rule.partition(":")[0] != "others"


def rules_of(user: User, *, is_asker: bool) -> list[str]:
    """Every rule by which the user may decide, for stores that look for them. Not of an admin."""
    kinds = ("role",) if is_asker else ("role", "others")
    named = [f"{kind}:{role}" for kind in kinds for role in sorted(user.roles)]
    return [ASKER if is_asker else "others", *named]


def _has(user: User, role: str) -> bool:
    """An admin has every role."""
    return not role or user.admin or role in user.roles


def is_approver(rule: Any) -> bool:
    if not isinstance(rule, str):
        return False
    who, colon, role = rule.partition(":")
    plain = not colon and who in ("asker", "others")
    return plain or (who in ("role", "others") and is_role(role))


def check_rule(rule: Any, whose: str) -> None:
    """Raises ConfigError for a rule that nobody knows: it would be a question never asked."""
    if rule is None or (isinstance(rule, str) and rule in RULES):
        return
    raise ConfigError(f"{whose}: 'approval' must be one of {', '.join(RULES)}, {_not(rule, RULES)}")


def check_approver(rule: Any, whose: str) -> None:
    """Raises ConfigError for an approver that nobody can be."""
    if rule is None or is_approver(rule):
        return
    known = ", ".join(APPROVERS)
    hint = _not(rule, (*APPROVERS, f"role:{rule}") if is_role(rule) else APPROVERS)
    raise ConfigError(f"{whose}: 'approver' must be one of {known}, {hint}")


def _not(value: Any, known: tuple[str, ...]) -> str:
    nearest = get_close_matches(str(value), known, n=1)
    return f"not {value!r}." + (f" Did you mean {nearest[0]!r}?" if nearest else "")
