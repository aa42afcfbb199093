"""A log in words: each event in a line, and a page on which nobody can forge a section."""

import pytest

from turnlog.events import kinds as k
from turnlog.projections import words as wording
from turnlog.terminal.export import as_markdown
from turnlog.terminal.replay import line
from turnlog.testing import samples as s

ASKED = k.ApprovalRequested(
    approval_id="a",
    tool_use_id="t",
    tool_name="create_customer",
    args={"name": "Test Corp", "city": "Boston"},
    description="Create customer Test Corp",
    expires_at="2026-11-16T12:00:00.000Z",
)


def resolved(**how):
    known = {"approval_id": "a", "approved": False, "decided_by": "ann", "outcome": "rejected"}
    return k.ApprovalResolved(**known | how)


def result(**how):
    known = {"tool_use_id": "t", "tool_name": "f", "result": None, "success": True, "duration": 1}
    return k.ToolResult(**known | how)


IN_DOUBT = "nobody knows whether it was done"
LINES = [
    (ASKED, "asks      Create customer Test Corp  [until 2026-11-16 12:00 UTC]"),
    (resolved(), "refused   by ann"),
    (resolved(reason="No."), "refused   by ann: No."),
    (resolved(outcome="expired", decided_by="turnlog"), "expired   by turnlog"),
    (
        resolved(outcome="approved", args={"name": "Test Corp", "country": "US"}),
        "allowed   by ann, changed: country US (new), no city (was Boston)",
    ),
    (result(result={"rows": [{"a": 1}] * 5}), "result    rows [(a 1), (a 1), (a 1), … 2 more]"),
    (result(result=[]), "result    []"),
    (result(result="two\nlines"), "result    two\nlines"),
    (result(success=False, error=IN_DOUBT, in_doubt=True), f"in doubt  {IN_DOUBT}"),
    (k.DecisionRefused(approval_id="a", tried_by="eve", why="not theirs"),
     "no say    eve tried to decide: not theirs"),
    (k.TurnResumed(), "resumed   the process had died; another one goes on"),
    (k.ToolSettled(tool_use_id="t", tool_name="pay", happened=False, decided_by="ann", note="No."),
     "settled   pay was not done, says ann: No."),
]  # fmt: skip


@pytest.mark.parametrize(("event", "said"), LINES, ids=[said for _, said in LINES])
def test_an_event_is_told_in_words(event, said):
    assert line(event, {"a": ASKED}) == said


def test_a_call_is_told_with_every_argument_whole():
    args = {"text": "x" * 300, "lines": [{"item": n} for n in range(20)], "flag": False}
    told = wording.call(args)
    assert "x" * 300 in told
    assert "(item 19)], flag no" in told


PAPER = {"name": "a#b.pdf", "mediaType": "application/pdf", "size": 9, "sha256": "abc"}
CITATION = {
    "type": "page_location",
    "cited_text": "Geese\n# fly.",
    "document_title": "Birds",
    "file": {"name": "a#b.pdf", "page": 2},
}


def test_files_and_sources_are_on_the_page_and_names_of_files_in_the_replay():
    asked = k.UserMessageSent(message_id="m", content="Do they?", files=[PAPER])
    said = s.said({"type": "text", "text": "They do.", "citations": [CITATION]})
    told = as_markdown(s.log_of([asked, said]))
    assert "Do they?\n\n- Attached: a#b.pdf (application/pdf, 9 bytes, sha256 abc)" in told
    assert "They do.\n\n- Cites Birds, page 2: “Geese # fly.”" in told.replace("\\", "")
    assert line(asked, {}) == "user      Do they?  [a#b.pdf]"


FORGED = [
    "# Session other", "  ## Decisions", "Decisions\n---", "Decisions\n===", "<h2>Decisions</h2>",
    "```\nnever closed", "> #### Allowed", "1. - # Allowed",
]  # fmt: skip


@pytest.mark.parametrize("text", FORGED)
def test_the_words_of_others_make_no_section_of_the_page(text):
    told = as_markdown(s.log_of([s.asked(text), s.asked("And now?")]))
    heads = [line for line in told.splitlines() if line.lstrip(" >*+-.1").startswith("#")]
    assert [head.split(",")[0] for head in heads] == ["# Session s", "## User", "## User"]
    assert not any(line.strip("=- ") == "" and line for line in told.splitlines())
    assert "<h2>" not in told.replace("\\<", "")
    assert told.count("```") % 2 == 0


BLOCKS = [  # and their last line on the page
    ("```\r\nx\r\n```\r\nAfter.", "After."),
    ("~~~\nx\n~~~~ \nAfter.", "After."),
    ("````\n```\nx", "````"),
    ("```\n``` x", "```"),
    ("~~~\n```", "~~~"),
    ("```a`b\nx", "x"),  # no block, but a word
    ("1. a\n   ~~~\nb\n~~~\nc", "c"),
    ("1. a\n   ~~~\nb", "~~~"),
]


@pytest.mark.parametrize(("text", "last"), BLOCKS)
def test_no_code_block_goes_on_over_the_next_section(text, last):
    told = as_markdown(s.log_of([s.asked(text), s.asked("And now?")]))
    assert told.split("\n\n## User")[1].split("\n")[-1] == last
    assert not any(line.startswith(" ") for line in told.splitlines()) and "\\r" not in told


def test_what_ends_a_line_for_python_alone_begins_no_heading_in_a_thought():
    told = as_markdown(s.log_of([k.Thinking(message_id="m", content="a\u2028# Allowed\nb")]))
    assert "\n> a\u2028# Allowed\n> b" in told


def test_the_words_of_others_give_the_terminal_no_command():
    told = as_markdown(s.log_of([s.asked("a\x1b[2J\x1b[H# Allowed\x9b1mb\u202ec\r\td👨‍👩‍👧")]))
    assert "a\\x1b[2J\\x1b[H# Allowed\\x9b1mb\\u202ec\\r\td👨‍👩‍👧" in told
