"""`turnlog diagnose capture`: what is recorded, and what goes wrong."""

import json

import pytest

from turnlog.cli import main
from turnlog.commands.diagnose import NAMES
from turnlog.config import Settings
from turnlog.diagnosis import captures, recorder, table
from turnlog.diagnosis.capabilities import CAPABILITIES
from turnlog.diagnosis.comparison import compare
from turnlog.diagnosis.player import play
from turnlog.errors import EngineFailed
from turnlog.simulator import SimulatedClaude


def test_the_command_names_every_capability():
    assert [capability.name for capability in CAPABILITIES] == list(NAMES)


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda capability: capability.name)
async def test_no_field_of_a_capability_is_lost_without_a_name(capability, tmp_path):
    capture = await recorder.capture(capability, Settings())
    captures.write(capture, tmp_path / "one.jsonl")
    again = captures.read(tmp_path / "one.jsonl")
    comparison = compare(again, await play(again))
    assert again == capture
    assert comparison.ok, "\n".join(table.lines(comparison))
    assert len(capture.calls) == len(capability.script)


def test_capture_writes_a_file_for_each_capability(tmp_path, capsys):
    assert main(["diagnose", "capture", "citations", "tools", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"citations.jsonl", "tools.jsonl"}
    about, ask, *rest = map(json.loads, (tmp_path / "tools.jsonl").read_text().splitlines())
    assert (about["capture"], about["simulated"]) == ("tools", True)
    assert ask["request"]["tools"][0]["name"] == "get_time"
    times = [line["ms"] for line in rest if line["call"] == 0 and "ms" in line]
    assert times == sorted(times)
    assert rest[0]["event"]["type"] == "message_start"


async def test_capture_asks_the_api_where_there_is_a_key():
    async with SimulatedClaude(pace=0).serve() as url:
        settings = Settings(api_key="test", base_url=url, model="claude-sonnet-4-5")
        capture = await recorder.capture(CAPABILITIES[4], settings)
    assert capture.about["simulated"] is False
    assert capture.calls[0].request["thinking"]["type"] == "enabled"
    assert capture.calls[-1].whole


async def test_a_refusal_of_the_api_is_reported():
    async with SimulatedClaude(key="other").serve() as url:
        with pytest.raises(EngineFailed, match="401.*invalid x-api-key"):
            await recorder.capture(CAPABILITIES[0], Settings(api_key="test", base_url=url))


async def test_an_unreachable_api_is_reported():
    nowhere = Settings(api_key="test", base_url="http://127.0.0.1:9")
    with pytest.raises(EngineFailed, match="cannot be reached"):
        await recorder.capture(CAPABILITIES[0], nowhere)


def test_capture_needs_a_capability(capsys):
    assert main(["diagnose", "capture"]) == 2
    assert "web-search" in capsys.readouterr().err
