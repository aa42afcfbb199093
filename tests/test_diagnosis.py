"""`turnlog diagnose`: what is recorded, and what a comparison finds, also when it must fail."""

import copy
import gzip
import json
import logging

import pytest
from recorded import FOLDERS, OURS, STREAMS, name

from turnlog.app import create_app
from turnlog.cli import main
from turnlog.commands.diagnose import NAMES
from turnlog.config import Settings
from turnlog.diagnosis import captures, table
from turnlog.diagnosis import recorder as capturing
from turnlog.diagnosis.capabilities import CAPABILITIES
from turnlog.diagnosis.captures import Capture, Recorded, framed
from turnlog.diagnosis.comparison import compare
from turnlog.diagnosis.player import play
from turnlog.engines.claude.drops import DROPS, Lost, reason
from turnlog.errors import EngineFailed
from turnlog.simulator import (
    Cut,
    Reply,
    SimulatedClaude,
    Text,
    Thinking,
    ToolCall,
)
from turnlog.simulator.stream import events
from turnlog.stores.raw_ledger import RawLedger

CITED = {"type": "char_location", "cited_text": "Quack.", "document_index": 0}
LATER = {"type": "char_location", "cited_text": "Moo.", "document_index": 1}
BODY = {"model": "claude-sonnet-5-5", "messages": [{"role": "user", "content": "?"}]}
REPLY = Reply(
    Thinking("Let me see."), Text("So.", (CITED, LATER)), ToolCall("look", {"at": 1}, "toolu_1")
)


def recorded(*raws, name="test"):
    return Capture(name, [Recorded(b"".join(map(framed, raws)))])


def said(reply=REPLY):
    return list(events(reply, BODY))


async def seen(capture):
    return compare(capture, await play(capture))


def fates(comparison):
    return {row.path: row.fate for row in comparison.fields}


@pytest.fixture(autouse=True)
def logging_as_before():
    yield
    logging.disable(logging.NOTSET)  # the command silences the log of its process


# capture


def test_the_command_knows_every_capability():
    assert [capability.name for capability in CAPABILITIES] == list(NAMES)


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda each: each.name)
async def test_nothing_of_a_capability_is_lost_without_a_name(capability, tmp_path):
    capture = await capturing.capture(capability, Settings())
    captures.write(capture, tmp_path / "one.jsonl")
    again = captures.read(tmp_path / "one.jsonl")
    comparison = await seen(again)
    assert again == capture
    assert comparison.ok, "\n".join(table.lines(comparison))
    assert len(capture.calls) == len(capability.script)


def test_capture_writes_one_file_a_capability_with_requests_and_times(tmp_path, capsys):
    assert main(["diagnose", "capture", "citations", "tools", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"citations.jsonl", "tools.jsonl"}
    about, ask, *rest = map(json.loads, (tmp_path / "tools.jsonl").read_text().splitlines())
    assert (about["capture"], about["simulated"]) == ("tools", True)
    assert ask["request"]["tools"][0]["name"] == "get_time"
    times = [line["ms"] for line in rest if line["call"] == 0 and "ms" in line]
    assert times == sorted(times)
    assert rest[0]["event"]["type"] == "message_start"


async def test_with_a_key_the_api_is_asked():
    async with SimulatedClaude().serve() as url:
        settings = Settings(api_key="test", base_url=url, model="claude-sonnet-4-5")
        capture = await capturing.capture(CAPABILITIES[4], settings)
    assert capture.about["simulated"] is False
    assert capture.calls[0].request["thinking"]["type"] == "enabled"
    assert capture.calls[-1].whole


async def test_what_the_api_refuses_is_told():
    async with SimulatedClaude(key="other").serve() as url:
        with pytest.raises(EngineFailed, match="401.*invalid x-api-key"):
            await capturing.capture(CAPABILITIES[0], Settings(api_key="test", base_url=url))


async def test_an_api_that_is_not_there_is_told():
    nowhere = Settings(api_key="test", base_url="http://127.0.0.1:9")
    with pytest.raises(EngineFailed, match="cannot be reached"):
        await capturing.capture(CAPABILITIES[0], nowhere)


def test_capture_wants_to_know_what(capsys):
    assert main(["diagnose", "capture"]) == 2
    assert "web-search" in capsys.readouterr().err


# compare: what holds


MINE = [path for path in STREAMS if path.is_relative_to(OURS)]
SAMPLES = [min(folder.glob("*.sse")) for folder in sorted({path.parent for path in STREAMS})]
ODD = [p for p in STREAMS if p.parent.name in ("malformed", "truncated", "error_midstream")]


@pytest.mark.parametrize("path", sorted({*MINE, *SAMPLES, *ODD}), ids=name)
async def test_nothing_of_a_recorded_stream_is_lost_without_a_name(path):
    comparison = await seen(captures.read(path))
    assert comparison.ok, "\n".join(table.lines(comparison))


async def test_a_comparison_says_what_is_preserved_lost_and_added():
    comparison = await seen(recorded(*said()))
    fate = fates(comparison)
    assert fate["content_block_delta(signature_delta).delta.signature"] == "preserved"
    assert fate["content_block_delta(citations_delta).delta.citation.cited_text"] == "preserved"
    assert fate["content_block_delta(input_json_delta).delta.partial_json.at"] == "preserved"
    assert fate["message_start.message.usage.output_tokens"] == "lost"
    assert {"message.costUsd", "message.sequenceNumber"} <= set(comparison.added)
    assert comparison.ok


async def test_what_the_api_learns_later_is_preserved_too():
    new = said(Reply("Hm."))
    new[1:1] = [
        {"type": "weather", "rain": {"mm": 3.5}},
        {"type": "content_block_start", "index": 7, "content_block": {"type": "mood", "tone": "a"}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "mood_delta", "tone": "bc"}},
        {"type": "content_block_stop", "index": 7, "weight": 9},
    ]
    fate = fates(await seen(recorded(*new)))
    assert fate["weather.rain.mm"] == "preserved"
    assert fate["content_block_delta(mood_delta).delta.tone"] == "preserved"
    assert fate["content_block_stop.weight"] == "preserved"


async def test_a_tool_id_that_comes_again_is_lost_by_name():
    one = recorded(*said(Reply(ToolCall("look", {}, "toolu_1"))))
    other = recorded(*said(Reply(ToolCall("look", {}, "toolu_1"))))
    comparison = await seen(Capture("twice", one.calls + other.calls))
    assert fates(comparison)["content_block_start(tool_use).content_block.id"] == "lost"
    assert comparison.ok


# compare: what it must find


def _without_citations(log):
    log[-2]["blocks"][1].pop("citations")


def _citations_turned_round(log):
    log[-2]["blocks"][1]["citations"].reverse()


def _citation_at_another_block(log):
    log[-2]["blocks"][0]["citations"] = log[-2]["blocks"][1].pop("citations")


def _signature_changed(log):
    log[-2]["blocks"][0]["signature"] = log[0]["signature"] = "c2ltdWxh"


def _text_shortened(log):
    log[-2]["blocks"][1]["text"] = "So"


def _arguments_changed(log):
    log[-2]["blocks"][2]["input"] = log[-1]["args"] = {"at": True}


def _usage_forgotten(log):
    log[-2]["reported"] = {}


DAMAGE = {
    _without_citations: "content_block_delta(citations_delta).delta.citation.cited_text",
    _citations_turned_round: "content_block_delta(citations_delta).delta.citation.cited_text",
    _citation_at_another_block: "content_block_delta(citations_delta).delta.citation.type",
    _signature_changed: "content_block_delta(signature_delta).delta.signature",
    _text_shortened: "content_block_delta(text_delta).delta.text",
    _arguments_changed: "content_block_delta(input_json_delta).delta.partial_json.at",
    _usage_forgotten: "message_start.message.usage.service_tier",
}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda each: each.__name__.strip("_"))
async def test_a_loss_is_found(damage):
    capture = recorded(*said())
    (made,) = await play(capture)
    broken = copy.deepcopy(made)
    damage(broken.log)
    assert compare(capture, [made]).ok
    comparison = compare(capture, [broken])
    assert fates(comparison)[DAMAGE[damage]] == "LOST"
    assert not comparison.ok


async def test_a_cut_answer_that_passes_for_a_whole_one_is_found():
    whole = recorded(*said())
    comparison = compare(recorded(*said()[:-1]), await play(whole))
    assert "taken for a whole one" in comparison.problems[0]
    assert not comparison.ok


def test_the_command_fails_when_something_is_lost_without_a_name(tmp_path, capsys):
    twice = said(Reply("First."))
    again = said(Reply("Then."))
    path = tmp_path / "twice.sse"
    path.write_bytes(b"".join(map(framed, [*twice[:-2], *again[1:]])))  # block 0 comes twice
    assert main(["diagnose", "compare", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "LOST       content_block_delta(text_delta).delta.text" in shown
    assert "1 bad" in shown


def test_the_command_is_content_when_nothing_is(tmp_path, capsys):
    path = tmp_path / "one.sse"
    path.write_bytes(recorded(*said()).calls[0].body)
    assert main(["diagnose", "compare", "--brief", str(tmp_path)]) == 0
    assert "0 lost without a name" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["a.jsonl", "a.sse.gz"])
def test_what_is_no_capture_is_refused_in_words(file, tmp_path, capsys):
    (tmp_path / file).write_text("Quack.\n")
    assert main(["diagnose", "compare", str(tmp_path)]) == 1
    assert "is no capture" in capsys.readouterr().err


# the list of drops

USES = {
    "a sign of life": Lost(path="ping.mood", values=[1]),
    "names an event": Lost(path="content_block_delta(x).delta.type", values=["x"]),
    "is the block's place": Lost(path="content_block_stop.index", values=[3]),
    "null or empty": Lost(path="message_delta.delta.x", values=[None, "", [], {}]),
    "message_delta replaces": Lost(
        path="message_start.message.usage.x", values=[1], later={"message_delta.usage.x"}
    ),
    "a fallback block": Lost(
        path="message_start.message.model", values=["a"], later={"content_block_start(fallback).x"}
    ),
    "a coarse hint": Lost(
        path="content_block_delta(thinking_delta).delta.estimated_tokens", values=[50]
    ),
    "came before": Lost(
        path="content_block_start(tool_use).content_block.id", values=["a"], repeated=True
    ),
    "may name accounts": Lost(path="error.error.message", values=["a"]),
    "the message was begun again": Lost(path="message_start.x", values=["a"], restarted=True),
    "the answer was cut": Lost(path="message_start.x", values=["a"], cut=True),
}


def test_every_row_of_the_list_has_a_use():
    given = [reason(lost) for lost in USES.values()]
    assert given == [drop.reason for drop in DROPS]
    assert all(why.startswith(start) for start, why in zip(USES, given, strict=True))


def test_a_condition_is_one():
    for drop, lost in zip(DROPS, USES.values(), strict=True):
        if drop.when is not None and drop.path != "*.type":
            assert reason(Lost(path=lost.path, values=["something"])) is None


# the raw ledger


async def asked(tmp_path, *replies, keep_raw=True):
    async with SimulatedClaude(*replies).serve() as url:
        settings = Settings(api_key="test", base_url=url, data=str(tmp_path), keep_raw=keep_raw)
        app = create_app(settings=settings, store="memory")
        async with app:
            assert await app.run_turn("Go")
    return sorted(path for path in tmp_path.rglob("*") if path.is_file())


async def test_the_bytes_of_each_call_are_kept_and_can_be_compared(tmp_path):
    replies = Reply("Look.", ToolCall("current_time"), id="msg_a"), Reply("Now.", id="msg_b")
    files = await asked(tmp_path, *replies)
    assert [path.name for path in files] == ["msg_a.sse.gz", "msg_b.sse.gz"]
    assert files[0].relative_to(tmp_path).parts[0] == "raw"
    assert gzip.decompress(files[1].read_bytes()).endswith(b'{"type":"message_stop"}\n\n')
    assert (await seen(captures.read(files[0]))).ok


async def test_what_there_was_of_a_cut_answer_is_kept_raw_too(tmp_path):
    (file,) = await asked(tmp_path, Reply("Some words.", ending=Cut(4)))
    capture = captures.read(file)
    assert len(capture.calls[0].events) == 4
    assert not capture.calls[0].whole


async def test_nothing_raw_is_kept_unless_asked_for(tmp_path):
    assert await asked(tmp_path, Reply("Hi."), keep_raw=False) == []


async def test_an_id_is_never_a_path_and_may_come_twice(tmp_path):
    ledger = RawLedger(tmp_path / "raw")
    for message_id in ("../../evil", "", "msg_1", "msg_1"):
        ledger.keep(message_id, [b"data: {}\n\n"])
    ledger.keep("msg_2", [])
    await ledger.close()
    files = sorted(path.name for path in (tmp_path / "raw").glob("*/*"))
    assert len(files) == 4
    assert {name.split("_")[0] for name in files} == {"call", "msg"}
    assert list(tmp_path.iterdir()) == [tmp_path / "raw"]


async def test_a_full_disk_fails_no_turn(tmp_path, caplog):
    (tmp_path / "raw").write_text("in the way")
    await asked(tmp_path, Reply("Hi."))
    assert "could not be stored" in caplog.text


def test_a_folder_is_all_the_captures_in_it():
    assert captures.find(FOLDERS) == STREAMS
