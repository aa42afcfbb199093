"""`turnlog lint`: findings and repairs of a history; a sentence for any other file."""

import io
import json
import os

import pytest
from histories import AND, HI, HO, LOOK, SEEN, ask, claude, image, user

from turnlog.cli import main

BLANK = ask(HI, claude("\n", "Ho"), AND)


@pytest.fixture
def lint(tmp_path, capsysbinary, monkeypatch):
    """Runs the command on a file with this content. Returns exit code, stdout and stderr."""

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


def test_a_finding_names_the_place_the_rule_the_problem_and_the_fix(lint):
    code, out, _ = lint(BLANK)
    first, last = out.splitlines()
    assert first == (
        "messages.1.content.0  text-is-not-blank: the text is blank (fix: the text is left out)"
    )
    assert (code, last) == (1, "3 messages: 1 rule broken in 1 place")


@pytest.mark.parametrize("by", ["file", "stdin"])
def test_fix_prints_the_history_in_its_own_form(lint, by):
    code, out, err = lint(BLANK, "--fix", by=by)
    assert (code, json.loads(out)) == (0, ask(HI, HO, AND))
    assert "text-is-not-blank" in err
    code, out, _ = lint(BLANK["messages"], "--fix", by=by)
    assert (code, json.loads(out)) == (0, [HI, HO, AND])


def test_write_changes_the_file_and_keeps_its_mode(lint, tmp_path):
    file = tmp_path / "history.json"
    file.touch()
    file.chmod(0o640)
    code, out, _ = lint(BLANK, "--fix", "--write")
    assert (code, out, json.loads(file.read_bytes())) == (0, "", ask(HI, HO, AND))
    assert os.stat(file).st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["history.json"]


def test_fix_leaves_a_good_file_unchanged(lint, tmp_path):
    raw = json.dumps(ask(HI, HO, AND), indent=7).encode()
    assert lint(raw, "--fix")[1] == raw.decode()
    lint(raw, "--fix", "--write")
    assert (tmp_path / "history.json").read_bytes() == raw


def test_only_some_models_allow_an_assistant_message_at_the_end(lint):
    assert lint([HI, HO], "--model", "claude-haiku-4-5")[0] == 0
    code, out, _ = lint([HI, HO], "--model", "claude-opus-4-6")
    assert (code, "prefill-is-taken" in out) == (1, True)
    code, out, _ = lint([HI, HO], "--model", "claude-opus-4-6", "--fix")
    assert json.loads(out)[:2] == [HI, HO]


def test_advice_does_not_fail_the_command(lint):
    code, out, _ = lint(ask(user("Hi", image())))
    assert (code, "files-come-before-text" in out, "(advice: nothing" in out) == (0, True, True)


@pytest.mark.slow
def test_a_history_that_cannot_be_repaired_fails(lint):
    code, _, err = lint(ask(user("x" * 34_000_000)), "--fix")
    assert code == 1
    assert "request  request-is-small: cannot be repaired" in err


def test_at_most_200_findings_are_printed(lint):
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
def test_a_file_that_is_not_a_history_gets_a_sentence(lint, tmp_path, raw, why, options):
    code, out, err = lint(raw, *options)
    assert (code, out) == (2, "")
    assert err.startswith("turnlog: ") and why in err
    assert (tmp_path / "history.json").read_bytes() == raw


@pytest.mark.parametrize("depth", [50, 150, 300, 600, 900])
def test_deep_arguments_are_repaired_or_get_a_sentence(lint, depth):
    deep = json.loads('{"a":' * depth + "1" + "}" * depth)
    call = {"type": "tool_use", "id": "a b", "name": "look", "input": deep}
    code, _, err = lint(ask(HI, claude(call), SEEN), "--fix")
    assert code == 0 or "nested too deeply" in err


def test_a_missing_file_gets_a_sentence(capsys, tmp_path):
    assert main(["lint", str(tmp_path / "none.json")]) == 2
    assert main(["lint", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("it cannot be read") == 2


def test_write_needs_fix_and_a_file(lint):
    assert lint(BLANK, "--write")[0] == 2
    assert lint(BLANK, "--fix", "--write", by="stdin")[0] == 2


def test_a_byte_order_mark_is_ignored(lint):
    assert lint(b"\xef\xbb\xbf" + json.dumps([HI]).encode())[0] == 0
