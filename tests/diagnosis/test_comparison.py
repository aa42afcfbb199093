"""`turnlog diagnose compare`: which fields of a recording our events hold."""

import copy
import logging

import pytest
from recorded import FOLDERS, STREAMS, each, is_ours

from turnlog.cli import main
from turnlog.diagnosis import captures, table
from turnlog.diagnosis.captures import Capture, RecordedCall, frame
from turnlog.diagnosis.comparison import compare
from turnlog.diagnosis.player import play
from turnlog.simulator import Reply, Text, Thinking, ToolCall
from turnlog.simulator.stream import events

CITED = {"type": "char_location", "cited_text": "Quack.", "document_index": 0}
LATER = {"type": "char_location", "cited_text": "Moo.", "document_index": 1}
BODY = {"model": "claude-sonnet-5-5", "messages": [{"role": "user", "content": "?"}]}
REPLY = Reply(
    Thinking("Let me see."), Text("So.", (CITED, LATER)), ToolCall("look", {"at": 1}, "toolu_1")
)


def capture_of(*raws):
    return Capture("test", [RecordedCall(b"".join(map(frame, raws)))])


def raws_of(reply=REPLY):
    """The raw events of an answer."""
    return list(events(reply, BODY))


async def compared(capture):
    return compare(capture, await play(capture))


def fates(comparison):
    return {row.path: row.fate for row in comparison.fields}


@pytest.fixture(autouse=True)
def logging_as_before():
    yield
    logging.disable(logging.NOTSET)  # the command silences the log of its process


SAMPLES = [min(folder.glob("*.sse")) for folder in sorted({path.parent for path in STREAMS})]
ODD = [p for p in STREAMS if p.parent.name in ("malformed", "truncated", "error_midstream")]


@pytest.mark.slow
@pytest.mark.parametrize("path", each(sorted({*filter(is_ours, STREAMS), *SAMPLES, *ODD})))
async def test_no_field_of_a_recorded_stream_is_lost_without_a_name(path):
    comparison = await compared(captures.read(path))
    assert comparison.ok, "\n".join(table.lines(comparison))


async def test_a_comparison_names_preserved_lost_and_added_fields():
    comparison = await compared(capture_of(*raws_of()))
    fate = fates(comparison)
    assert fate["content_block_delta(signature_delta).delta.signature"] == "preserved"
    assert fate["content_block_delta(citations_delta).delta.citation.cited_text"] == "preserved"
    assert fate["content_block_delta(input_json_delta).delta.partial_json.at"] == "preserved"
    assert fate["message_start.message.usage.output_tokens"] == "lost"
    assert {"message.costUsd", "message.sequenceNumber"} <= set(comparison.added)
    assert comparison.ok


async def test_unknown_events_and_blocks_are_preserved():
    new = raws_of(Reply("Hm."))
    new[1:1] = [
        {"type": "weather", "rain": {"mm": 3.5}},
        {"type": "content_block_start", "index": 7, "content_block": {"type": "mood", "tone": "a"}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "mood_delta", "tone": "bc"}},
        {"type": "content_block_stop", "index": 7, "weight": 9},
    ]
    fate = fates(await compared(capture_of(*new)))
    assert fate["weather.rain.mm"] == "preserved"
    assert fate["content_block_delta(mood_delta).delta.tone"] == "preserved"
    assert fate["content_block_stop.weight"] == "preserved"


async def test_a_repeated_tool_id_is_lost_by_name():
    one = capture_of(*raws_of(Reply(ToolCall("look", {}, "toolu_1"))))
    other = capture_of(*raws_of(Reply(ToolCall("look", {}, "toolu_1"))))
    comparison = await compared(Capture("twice", one.calls + other.calls))
    assert fates(comparison)["content_block_start(tool_use).content_block.id"] == "lost"
    assert comparison.ok


# losses that a comparison must find


def _citations_removed(log):
    log[-2]["blocks"][1].pop("citations")


def _citations_reversed(log):
    log[-2]["blocks"][1]["citations"].reverse()


def _citation_in_another_block(log):
    log[-2]["blocks"][0]["citations"] = log[-2]["blocks"][1].pop("citations")


def _signature_changed(log):
    log[-2]["blocks"][0]["signature"] = log[0]["signature"] = "c2ltdWxh"


def _text_shortened(log):
    log[-2]["blocks"][1]["text"] = "So"


def _arguments_changed(log):
    log[-2]["blocks"][2]["input"] = log[-1]["args"] = {"at": True}


def _usage_removed(log):
    log[-2]["reported"] = {}


DAMAGE = {
    _citations_removed: "content_block_delta(citations_delta).delta.citation.cited_text",
    _citations_reversed: "content_block_delta(citations_delta).delta.citation.cited_text",
    _citation_in_another_block: "content_block_delta(citations_delta).delta.citation.type",
    _signature_changed: "content_block_delta(signature_delta).delta.signature",
    _text_shortened: "content_block_delta(text_delta).delta.text",
    _arguments_changed: "content_block_delta(input_json_delta).delta.partial_json.at",
    _usage_removed: "message_start.message.usage.service_tier",
}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__.strip("_"))
async def test_a_comparison_finds_the_loss(damage):
    capture = capture_of(*raws_of())
    (played,) = await play(capture)
    broken = copy.deepcopy(played)
    damage(broken.log)
    assert compare(capture, [played]).ok
    comparison = compare(capture, [broken])
    assert fates(comparison)[DAMAGE[damage]] == "LOST"
    assert not comparison.ok


async def test_a_comparison_finds_a_cut_answer_that_was_taken_for_whole():
    whole = capture_of(*raws_of())
    comparison = compare(capture_of(*raws_of()[:-1]), await play(whole))
    assert "taken for a whole one" in comparison.problems[0]
    assert not comparison.ok


def test_the_command_fails_if_a_field_is_lost_without_a_name(tmp_path, capsys):
    twice = raws_of(Reply("First."))
    again = raws_of(Reply("Then."))
    path = tmp_path / "twice.sse"
    path.write_bytes(b"".join(map(frame, [*twice[:-2], *again[1:]])))  # block 0 comes twice
    assert main(["diagnose", "compare", str(path)]) == 1
    output = capsys.readouterr().out
    assert "LOST       content_block_delta(text_delta).delta.text" in output
    assert "1 bad" in output


def test_the_command_succeeds_if_no_field_is_lost_without_a_name(tmp_path, capsys):
    path = tmp_path / "one.sse"
    path.write_bytes(capture_of(*raws_of()).calls[0].body)
    assert main(["diagnose", "compare", "--brief", str(tmp_path)]) == 0
    assert "0 lost without a name" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["a.jsonl", "a.sse.gz"])
def test_a_file_that_is_not_a_capture_is_refused(file, tmp_path, capsys):
    (tmp_path / file).write_text("Quack.\n")
    assert main(["diagnose", "compare", str(tmp_path)]) == 2
    assert "is not a capture" in capsys.readouterr().err


def test_a_folder_stands_for_all_captures_in_it():
    assert captures.find(FOLDERS) == STREAMS
