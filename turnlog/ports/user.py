"""Who asks: an id, and the roles that the token gives."""

from dataclasses import dataclass, field
from typing import Any

ADMIN = "admin"
AUDITOR = "auditor"
MOST_ROLES = 100
LONGEST_ROLE = 100  # characters
LONGEST_ID = 200  # characters


@dataclass(frozen=True, kw_only=True)
class User:
    """A person or a program with a token. Roles are names: `admin`, `auditor`, or an approver's."""

    id: str
    roles: frozenset[str] = frozenset()
    until: float | None = field(default=None, compare=False)  # when the token ends, since 1970

    @classmethod
    def named(cls, user: "User | str") -> "User":
        """The user; one that is given by its id alone has no role."""
        return user if isinstance(user, User) else cls(id=user)

    @property
    def admin(self) -> bool:
        return ADMIN in self.roles

    @property
    def auditor(self) -> bool:
        """Whether the user may read anybody's log. Admins may."""
        return self.admin or AUDITOR in self.roles


def is_user_id(name: Any) -> bool:
    """Whether a user can have this id. What is not printable, such as half a surrogate pair, no
    store can write."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_ID and name.isprintable()


def is_role(name: Any) -> bool:
    """Whether a role can have this name: text, printable, without spaces around it."""
    fits = isinstance(name, str) and 0 < len(name) <= LONGEST_ROLE
    return fits and name.isprintable() and name == name.strip()


def roles_of(claim: Any) -> frozenset[str]:
    """The roles of a token's claim, which is a list of names. Anything else gives no role."""
    if not isinstance(claim, list) or len(claim) > MOST_ROLES:
        return frozenset()
    return frozenset(name for name in claim if is_role(name))
