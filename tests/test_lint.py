"""Every rule of a history, with one that breaks it and one that does not."""

import pytest

from turnlog.projections.lint import RULES, Finding, lint
from turnlog.testing.samples import call, text


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def claude(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def result(id):
    return {"type": "tool_result", "tool_use_id": id, "content": "seen"}


HI, HO = user(text("Hi")), claude(text("Ho"))
A, SEEN = claude(call("a")), user(result("a"))
ASKS = claude(call("a"), call("b"))
TWICE, BOTH = claude(call("a"), call("a")), user(result("a"), result("a"))
ANSWERED = user(result("b"), result("a"), text("and?"))

SEARCHES = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}
GOOD = {
    "one question": [HI],
    "plain strings": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
    "tools, answered in any order": [HI, ASKS, ANSWERED],
    "two rounds of tools": [HI, A, SEEN, claude(call("b")), user(result("b"))],
}  # fmt: skip
BROKEN = [
    ("first-is-user", "messages.0", []),
    ("first-is-user", "messages.0", [HO]),
    ("roles-take-turns", "messages.1", [HI, HI]),
    ("roles-take-turns", "messages.2", [HI, HO, HO]),
    ("content-is-there", "messages.1", [HI, claude()]),
    ("content-is-there", "messages.0", [{"role": "user", "content": ""}]),
    ("text-is-not-blank", "messages.0.content.1", [user(text("Hi"), text(" \n"))]),
    ("tools-are-answered-at-once", "messages.1", [HI, ASKS]),
    ("tools-are-answered-at-once", "messages.2", [HI, ASKS, SEEN]),
    ("tools-are-answered-at-once", "messages.2", [HI, A, HI]),
    ("tools-are-answered-at-once", "messages.0", [SEEN]),
    ("tools-are-answered-at-once", "messages.2", [HI, A, BOTH]),
    ("tools-are-answered-at-once", "messages.2", [HI, ASKS, user(result("a"), result("c"))]),
    ("results-come-first", "messages.2", [HI, A, user(text("and?"), result("a"))]),
    ("tool-ids-are-unique", "messages.3", [HI, A, SEEN, A, SEEN]),
    ("tool-ids-are-unique", "messages.1", [HI, TWICE, BOTH]),
    ("server-tools-are-whole", "messages.1", [HI, claude(SEARCHES), HI]),
    ("server-tools-are-whole", "messages.1", [HI, claude(FOUND), HI]),
]  # fmt: skip


@pytest.mark.parametrize("messages", GOOD.values(), ids=GOOD)
def test_a_good_history_has_no_findings(messages):
    assert lint(messages) == []


@pytest.mark.parametrize(("rule", "place", "messages"), BROKEN)
def test_a_broken_rule_is_found_and_its_place_named(rule, place, messages):
    assert Finding(rule, place) in lint(messages)


def test_every_rule_has_a_history_that_breaks_it():
    assert {rule for rule, _, _ in BROKEN} == RULES.keys()
