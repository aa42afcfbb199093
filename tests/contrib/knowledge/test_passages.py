"""Passages: cut where the text is cut, and nothing lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.contrib.knowledge.passages import LONGEST, Page, passages

TEXT = """# Travel
Book early.

## Hotels
A night costs 140 euros at most.

# Meals
Nobody pays for the minibar.
"""


def test_a_passage_knows_the_headings_above_it():
    found = passages([Page(TEXT)])
    assert [(each.heading, each.text) for each in found] == [
        ("Travel", "Book early."),
        ("Travel › Hotels", "A night costs 140 euros at most."),
        ("Meals", "Nobody pays for the minibar."),
    ]


def test_a_passage_is_on_one_page_and_a_heading_holds_over_pages():
    found = passages([Page("# Rules\nNo smoking." * 1, 1), Page("No running.", 2)])
    assert [(each.page, each.heading) for each in found] == [(1, "Rules"), (2, "Rules")]


def test_a_long_table_has_its_head_in_every_passage():
    rows = "\n".join(f"| part {n} | {n * 10} euros |" for n in range(200))
    found = passages([Page(f"| name | price |\n|---|---|\n{rows}")])
    assert len(found) > 3
    assert all(each.text.startswith("| name | price |\n|---|---|\n") for each in found)
    assert all(sum(f"| part {n} |" in each.text for each in found) == 1 for n in range(200))


def test_sentences_stay_whole():
    sentence = "The quick brown fox jumps over the lazy dog near the river bank today."
    found = passages([Page(" ".join([sentence] * 60))])
    assert len(found) > 3
    assert all(each.text.endswith("today.") and each.text.startswith("The") for each in found)


@pytest.mark.parametrize(
    "text",
    ["1.\t" + "The supplier shall deliver on time. " * 40, "| " + "wide " * 300 + "|"],
    ids=["a numbered clause", "a table of one row"],
)
def test_a_long_line_that_looks_like_a_row_is_found(text):
    found = passages([Page(text)])
    assert len(found) > 1
    assert "".join("".join(each.text.split()) for each in found) == "".join(text.split())


LONG = "x" * 50_000
LARGE = {
    "headings": f"# {LONG}\n## {LONG}\n" + "Some words.\n\n" * 10_000,
    "the head of a table": f"| {LONG} |\n|---|\n" + f"| {'y' * 250} |\n" * 500,
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_what_is_repeated_in_every_passage_is_short(text):
    """Else a document of a megabyte takes a gigabyte."""
    found = passages([Page(text)])
    assert sum(len(each.heading) + len(each.text) for each in found) < 3 * len(text)


def test_a_line_of_spaces_is_read_at_once():
    """A million of them held up the whole server for hours, and again after each restart."""
    (found,) = passages([Page("# a" + " " * 1_000_000 + "b")])[:1]
    assert found.text.startswith("# a")


@given(st.lists(st.text(alphabet="ab .|#\n\t", max_size=3000), max_size=4))
def test_no_word_is_lost_and_no_passage_is_too_long(texts):
    found = passages([Page(text, n + 1) for n, text in enumerate(texts)])
    letters = "".join(texts)
    kept = "".join("".join(each.text.split()) for each in found)
    if "#" not in letters:  # what the head of a table says is said again
        assert len(kept) >= len("".join(letters.split()))
    if "|" not in letters and "#" not in letters and "\t" not in letters:
        assert kept == "".join(letters.split())
    assert all(each.text.strip() for each in found)
    assert all(len(each.text) <= LONGEST * 2 for each in found)
