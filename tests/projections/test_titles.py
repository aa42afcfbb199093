"""A conversation is named after what was asked first."""

import pytest

from turnlog.projections.titles import MOST_CHARACTERS, title_of

# fmt: off
TITLES = [
    ("Hi", ""),
    ("Hello! Good morning.", ""),
    ("", ""),
    ("?!", ""),
    ("👋", ""),
    ("Hi, show me my tasks", "Show me my tasks"),
    ("Hello Claude, could you please list all open invoices? I need them.",
     "List all open invoices?"),
    ("please\n\ncreate a customer", "Create a customer"),
    ("History of the duck", "History of the duck"),
    ("Hiking in the Alps", "Hiking in the Alps"),
    ("# Report\nwrite it", "Report"),
    ("Zeig mir die Straße", "Zeig mir die Straße"),
    ("客户列表。谢谢", "客户列表。谢谢"),
    ("a\u202eevil\x00title", "A evil title"),
]
# fmt: on


@pytest.mark.parametrize(("question", "title"), TITLES)
def test_a_title_says_what_was_asked(question, title):
    assert title_of(question) == title


def test_a_long_question_is_cut_between_words():
    title = title_of("word " * 100_000)
    assert title == "Word" + " word" * 10 + "…"
    assert len(title_of("x" * 500)) == MOST_CHARACTERS


def test_a_hostile_question_costs_no_time():
    assert title_of("hi " * 100_000) == ""
    assert title_of("please " * 100_000) == ""
