"""What a token says about its user's roles, and what it cannot say."""

import pytest

from turnlog.ports import User
from turnlog.tokens import mint
from turnlog.transports.access.auth import Auth

SECRET = "s" * 32
NO_ROLES = [
    "finance",
    {"finance": True},
    None,
    7,
    [["finance"]],
    [7, None],
    [""],
    ["x" * 101],
    [" finance"],
    ["fin\nance"],
    [f"role {number}" for number in range(101)],
]


def user_of(auth=None, **claims):
    return (auth or Auth(SECRET)).user(f"Bearer {mint(SECRET, 'alice', **claims)}")


def test_roles_are_the_names_that_the_token_lists():
    user = user_of(roles=["finance", "auditor"])
    assert user == User(id="alice", roles=frozenset({"finance", "auditor"}))
    assert (user.admin, user.auditor) == (False, True)


@pytest.mark.parametrize("claim", NO_ROLES, ids=lambda claim: repr(claim)[:20])
def test_a_claim_of_another_form_gives_no_role(claim):
    assert user_of(Auth(SECRET, roles_claim="groups"), groups=claim) == User(id="alice")


@pytest.mark.parametrize("told", [{"admin": True}, {"roles": ["admin"]}])
def test_an_admin_may_do_what_an_auditor_may(told):
    user = user_of(**told)
    assert (user.admin, user.auditor) == (True, True)


def test_an_admin_claim_of_one_s_own_is_the_only_way_to_be_an_admin():
    auth = Auth(SECRET, admin_claim="boss")
    assert user_of(auth, roles=["admin", "finance"]).roles == {"finance"}
    assert user_of(auth, roles=["finance"], boss=True).admin
    assert not user_of(auth, boss="true").admin


def test_the_roles_may_stand_in_another_claim():
    auth = Auth(SECRET, roles_claim="groups")
    assert user_of(auth, groups=["finance"], roles=["admin"]).roles == {"finance"}


def test_without_authentication_the_local_user_is_an_admin():
    assert Auth(None).user(None).admin
