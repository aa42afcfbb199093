"""The raw ledger: the provider's bytes, kept beside the log."""

import gzip

from turnlog.diagnosis import captures
from turnlog.diagnosis.comparison import compare
from turnlog.diagnosis.player import play
from turnlog.simulator import Cut, Reply, ToolCall
from turnlog.stores.raw_ledger import RawLedger, forget
from turnlog.testing.apps import scripted_app


async def files_of_a_turn(tmp_path, *replies, keep_raw=True):
    async with scripted_app(*replies, agents=None, data=str(tmp_path), keep_raw=keep_raw) as (
        app,
        _,
    ):
        assert await app.run_turn("Go")
    return sorted(path for path in tmp_path.rglob("*") if path.is_file())


async def test_the_bytes_of_each_call_are_kept(tmp_path):
    replies = Reply("Look.", ToolCall("current_time"), id="msg_a"), Reply("Now.", id="msg_b")
    files = await files_of_a_turn(tmp_path, *replies)
    assert [path.name for path in files] == ["msg_a.sse.gz", "msg_b.sse.gz"]
    assert files[0].relative_to(tmp_path).parts[0] == "raw"
    capture = captures.read(files[0])
    assert gzip.decompress(files[1].read_bytes()).endswith(b'{"type":"message_stop"}\n\n')
    assert compare(capture, await play(capture)).ok


async def test_the_bytes_of_a_cut_answer_are_kept(tmp_path):
    (file,) = await files_of_a_turn(tmp_path, Reply("Some words.", ending=Cut(4)))
    capture = captures.read(file)
    assert len(capture.calls[0].events) == 4
    assert not capture.calls[0].whole


async def test_no_bytes_are_kept_by_default(tmp_path):
    assert await files_of_a_turn(tmp_path, Reply("Hi."), keep_raw=False) == []


async def test_a_message_id_never_becomes_a_path(tmp_path):
    ledger = RawLedger(tmp_path / "raw")
    for message_id in ("../../evil", "", "msg_1", "msg_1"):
        ledger.keep(message_id, [b"data: {}\n\n"])
    ledger.keep("msg_2", [])
    await ledger.close()
    files = sorted(path.name for path in (tmp_path / "raw").glob("*/*"))
    assert len(files) == 4
    assert {name.split("_")[0] for name in files} == {"call", "msg"}
    assert list(tmp_path.iterdir()) == [tmp_path / "raw"]


async def test_an_answer_is_forgotten_by_its_whole_id(tmp_path):
    ledger = RawLedger(tmp_path / "raw")
    for message_id in ("msg_1", "msg_1", "msg_10"):
        ledger.keep(message_id, [b"data: {}\n\n"])
    await ledger.close()
    assert forget(tmp_path, ["msg_1", "msg_2", "*"]) == 2
    assert [path.name for path in (tmp_path / "raw").glob("*/*")] == ["msg_10.sse.gz"]


async def test_a_full_disk_does_not_fail_the_turn(tmp_path, caplog):
    (tmp_path / "raw").write_text("in the way")
    await files_of_a_turn(tmp_path, Reply("Hi."))
    assert "could not be stored" in caplog.text
