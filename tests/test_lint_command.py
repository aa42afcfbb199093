"""`turnlog lint`: anybody's history, named and mended; any file at all, and never a traceback."""

import io
import json
import os

import pytest
from histories import AND, HI, HO, LOOK, SEEN, ask, claude, image, user

from turnlog.cli import main

BLANK = ask(HI, claude("\n", "Ho"), AND)


@pytest.fixture
def lint(tmp_path, capsysbinary, monkeypatch):
    """Runs the command on a file with this in it: the exit code, stdout and stderr."""

    def run(content, *options, by="file"):
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / "history.json").write_bytes(raw)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
        name = "-" if by == "stdin" else str(tmp_path / "history.json")
        code = main(["lint", name, *options])
        out, err = capsysbinary.readouterr()
        assert b"Traceback" not in err
        return code, out.decode(), err.decode()

    return run


@pytest.mark.parametrize("by", ["file", "stdin"])
@pytest.mark.parametrize("history", [ask(HI, HO, AND), [HI, HO, AND], [HI, HO]])
def test_a_good_history_is_ok(lint, history, by):
    code, out, err = lint(history, by=by)
    assert (code, out.splitlines()[-1].split(": ")[1], err) == (0, "ok", "")


def test_a_broken_one_names_the_place_the_rule_what_is_wrong_and_what_would_be_done(lint):
    code, out, _ = lint(BLANK)
    first, last = out.splitlines()
    assert first == (
        "messages.1.content.0  text-is-not-blank: the text is blank (fix: the text is left out)"
    )
    assert (code, last) == (1, "3 messages: 1 rule broken in 1 place")


@pytest.mark.parametrize("by", ["file", "stdin"])
def test_fix_prints_the_history_in_the_form_that_it_came_in(lint, by):
    code, out, err = lint(BLANK, "--fix", by=by)
    assert (code, json.loads(out)) == (0, ask(HI, HO, AND))
    assert "text-is-not-blank" in err
    code, out, _ = lint(BLANK["messages"], "--fix", by=by)
    assert (code, json.loads(out)) == (0, [HI, HO, AND])


def test_write_puts_it_into_the_file_and_keeps_its_mode(lint, tmp_path):
    file = tmp_path / "history.json"
    file.touch()
    file.chmod(0o640)
    code, out, _ = lint(BLANK, "--fix", "--write")
    assert (code, out, json.loads(file.read_bytes())) == (0, "", ask(HI, HO, AND))
    assert os.stat(file).st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["history.json"]


def test_a_good_file_is_given_back_byte_for_byte(lint, tmp_path):
    raw = json.dumps(ask(HI, HO, AND), indent=7).encode()
    assert lint(raw, "--fix")[1] == raw.decode()
    lint(raw, "--fix", "--write")
    assert (tmp_path / "history.json").read_bytes() == raw


def test_the_model_decides_whether_the_assistant_may_come_last(lint):
    assert lint([HI, HO], "--model", "claude-haiku-4-5")[0] == 0
    code, out, _ = lint([HI, HO], "--model", "claude-opus-4-6")
    assert (code, "prefill-is-taken" in out) == (1, True)
    code, out, _ = lint([HI, HO], "--model", "claude-opus-4-6", "--fix")
    assert json.loads(out)[:2] == [HI, HO]


def test_advice_is_given_and_is_no_mistake(lint):
    code, out, _ = lint(ask(user("Hi", image())))
    assert (code, "files-come-before-text" in out, "(advice: nothing" in out) == (0, True, True)


def test_what_cannot_be_mended_says_so(lint):
    code, _, err = lint(ask(user("x" * 34_000_000)), "--fix")
    assert code == 1
    assert "request  request-is-small: cannot be mended" in err


def test_a_thousand_findings_are_not_all_told(lint):
    code, out, _ = lint([HI, *[LOOK, SEEN] * 1000])
    assert (code, len(out.splitlines())) == (1, 202)
    assert "... and 799 more" in out


# fmt: off
NO_HISTORIES = {
    "nothing":                  (b"", "not JSON"),
    "half a file":              (b'[{"role": "user"', "not JSON"),
    "bytes that are no text":   (b'["\xff\xfe"]', "not JSON"),
    "half a character":         (b'[{"role": "\\ud800"}]', "not JSON"),
    "a number without end":     (b"[1e999]", "not JSON"),
    "something else":           (b'{"messages": {}}', "neither"),
    "a list of something else": (b'[1, ["user"]]', "neither"),
    "a word":                   (b'"messages"', "neither"),
    "a deep list":              (b"[" * 100_000, "nested too deeply"),
    "a deep object":            (b'{"messages":' * 100_000, "nested too deeply"),
}
# fmt: on


@pytest.mark.parametrize("options", [[], ["--fix"], ["--fix", "--write"]], ids=" ".join)
@pytest.mark.parametrize(("raw", "why"), NO_HISTORIES.values(), ids=NO_HISTORIES)
def test_what_is_no_history_is_answered_with_a_sentence(lint, tmp_path, raw, why, options):
    code, out, err = lint(raw, *options)
    assert (code, out) == (2, "")
    assert err.startswith("turnlog: ") and why in err
    assert (tmp_path / "history.json").read_bytes() == raw


@pytest.mark.parametrize("depth", [50, 150, 300, 600, 900])
def test_a_deep_argument_is_no_problem_or_a_sentence(lint, depth):
    deep = json.loads('{"a":' * depth + "1" + "}" * depth)
    call = {"type": "tool_use", "id": "a b", "name": "look", "input": deep}
    code, _, err = lint(ask(HI, claude(call), SEEN), "--fix")
    assert code == 0 or "nested too deeply" in err


def test_a_file_that_is_not_there_is_no_history(capsys, tmp_path):
    assert main(["lint", str(tmp_path / "none.json")]) == 2
    assert main(["lint", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("it cannot be read") == 2


def test_write_needs_a_file_and_fix(lint):
    assert lint(BLANK, "--write")[0] == 2
    assert lint(BLANK, "--fix", "--write", by="stdin")[0] == 2


def test_a_byte_order_mark_does_not_matter(lint):
    assert lint(b"\xef\xbb\xbf" + json.dumps([HI]).encode())[0] == 0
