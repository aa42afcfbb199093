"""What was shown of an answer is saved piece by piece: each is written once."""

import asyncio
from unittest import mock

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef
from turnlog.pipeline.drafts import Drafts
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import CallStarted, Turn
from turnlog.turns.answers import drafts
from turnlog.turns.answers.drafts import DraftKeeper
from turnlog.turns.recovery import unkept

AGENT = AgentRef(id="a", name="A")
TURN = Turn(id="t", session_id="s", user_id="u")


class Saved:
    """Where drafts are saved, in memory; it may fail."""

    def __init__(self):
        self.pieces, self.fails = [], False

    async def add_draft(self, turn, piece):
        if self.fails:
            raise OSError("full")
        self.pieces.append(piece)


class Writer:
    """A turn whose model writes."""

    def __init__(self):
        self.state, self.saved = TurnState(TURN, AGENT), Saved()
        self.keeper = DraftKeeper(self.state, self.saved)

    def begins(self, call, id="msg_1"):
        started = CallStarted(message_id=id, model="m", reported={"output_tokens": 1})
        self.state.call_started(started, call, AGENT)

    def writes(self, call, text, block=0, thinking=False, cites=()):
        draft = self.state.drafts[call]
        kind = k.ThinkingChunk if thinking else k.MessageChunk
        more = {"citations": list(cites)} if cites else {}
        draft.chunks.append(
            kind(message_id=draft.message_id, content=text, block_index=block, **more)
        )

    async def saves(self):
        self.keeper._save()
        if self.keeper._saving:
            await asyncio.wait([self.keeper._saving])

    def found(self):
        """What a process that goes on would find."""
        turn = msgspec.structs.replace(TURN, draft=b"\n".join(self.saved.pieces) or None)
        return unkept(turn, TurnState(TURN, AGENT))

    def shown(self):
        return [_words(draft) for draft in self.state.drafts.values()]


def _words(draft):
    events = draft.events("interrupted")
    return draft.message_id, [msgspec.to_builtins(event) for event in events]


async def test_a_piece_has_only_what_is_new():
    """A hundred times the answer, as it grew, would be fifty times its size."""
    writer = Writer()
    writer.begins("1")
    for n in range(100):
        writer.writes("1", f"{n:1000}")
        await writer.saves()
    assert sum(map(len, writer.saved.pieces)) < 100 * 1000 * 1.5
    assert [_words(draft) for draft in writer.found().answers] == writer.shown()


async def test_an_answer_is_saved_as_it_grows_and_only_then(monkeypatch):
    """Nobody says that it grew: the keeper looks, as often as it saves."""
    monkeypatch.setattr(drafts, "EVERY", 0.003)
    monkeypatch.setattr(drafts, "TICK", 0.001)
    writer = Writer()
    pieces, looks = writer.saved.pieces, mock.Mock(wraps=writer.keeper._save)
    monkeypatch.setattr(writer.keeper, "_save", looks)

    async def until(is_so):
        async with asyncio.timeout(60):
            while not is_so():
                await asyncio.sleep(0.001)

    writer.keeper.watch()  # there is nothing yet
    writer.begins("1")
    writer.keeper.watch()
    await until(lambda: len(pieces) == 1)
    writer.writes("1", "One")
    await until(lambda: len(pieces) == 2)
    seen = looks.call_count
    await until(lambda: looks.call_count > seen + 3)
    assert len(pieces) == 2
    writer.state.index += 1  # something was shown that is no part of an answer
    await until(lambda: len(pieces) == 3)
    writer.saved.fails = True
    writer.writes("1", " two")
    await until(lambda: writer.keeper._marks == {})
    writer.saved.fails = False
    await until(lambda: len(pieces) == 4)
    assert [_words(draft) for draft in writer.found().answers] == writer.shown()
    await writer.keeper.close()


async def test_an_answer_that_is_kept_or_begins_again_is_not_saved_any_more():
    writer = Writer()
    writer.begins("1", "msg_1")
    writer.begins("2", "msg_2")
    writer.writes("1", "One.")
    writer.writes("2", "Two.")
    await writer.saves()
    del writer.state.drafts["1"]  # it is kept
    writer.begins("2")  # the stream begins anew
    writer.writes("2", "Other.")
    await writer.saves()
    assert [_words(draft) for draft in writer.found().answers] == writer.shown()


async def test_an_answer_with_a_new_id_is_there_once():
    writer = Writer()
    writer.begins("1", "msg_taken")
    writer.writes("1", "Mine.")
    await writer.saves()
    writer.state.rename_drafts({"msg_taken": "msg_fresh"})
    writer.writes("1", " All of it.")
    await writer.saves()
    assert [_words(draft) for draft in writer.found().answers] == writer.shown()


async def test_a_piece_waits_for_the_one_before_it():
    """A store that is slow, and then says that it could not: what came after that has a hole."""
    writer, slow = Writer(), asyncio.Event()
    add_draft = writer.saved.add_draft

    async def fails_late(turn, piece):
        writer.saved.add_draft = add_draft
        await slow.wait()
        raise OSError("full")

    writer.saved.add_draft = fails_late
    writer.begins("1")
    writer.writes("1", "One")
    writer.keeper._save()
    await asyncio.sleep(0)  # it is being saved
    writer.writes("1", " two")
    writer.keeper._save()
    slow.set()
    await asyncio.wait([writer.keeper._saving])
    assert writer.found().answers == []
    await writer.saves()
    assert [_words(draft) for draft in writer.found().answers] == writer.shown()
    await writer.keeper.close()


async def test_after_a_piece_that_was_not_stored_all_of_it_comes_again():
    writer = Writer()
    writer.begins("1")
    for text in ("One", " two", " three"):
        writer.writes("1", text)
        writer.saved.fails = text == " two"
        await writer.saves()
    assert [_words(draft) for draft in writer.found().answers] == writer.shown()


def test_what_one_process_saved_is_read_whole_also_by_an_older_form():
    """Before, a draft was one piece that had everything."""
    old = b'{"index":3,"answers":[{"message_id":"m","model":"x","reported":{},"agent":{"id":"a","name":"A"},"blocks":[{"kind":"text","index":0,"pieces":["Hi"],"citations":[]}]}]}'  # noqa: E501 - as it was stored
    found = unkept(msgspec.structs.replace(TURN, draft=old), TurnState(TURN, AGENT))
    assert (found.index, found.answers[0].blocks[0].pieces) == (3, ["Hi"])


steps = st.lists(
    st.tuples(
        st.sampled_from(["begin", "write", "think", "cite", "keep", "save"]), st.sampled_from("12"),
        st.integers(0, 2),
    )
)  # fmt: skip


@given(steps)
def test_what_is_found_is_what_was_shown_when_it_was_last_saved(steps):
    async def play():
        writer, wanted = Writer(), []
        for what, call, block in steps:
            if what == "begin":
                writer.begins(call, f"msg_{call}")
            elif what == "save":
                await writer.saves()
                if writer.state.drafts:
                    wanted = msgspec.json.decode(msgspec.json.encode(writer.shown()))
            elif what == "keep":
                writer.state.drafts.pop(call, None)
            elif call in writer.state.drafts:
                cites = [{"type": "char_location"}] if what == "cite" else ()
                writer.writes(call, f"{what}{block} ", block, what == "think", cites)
        found = [_words(draft) for draft in writer.found().answers]
        assert sorted(msgspec.json.decode(msgspec.json.encode(found))) == sorted(wanted)

    asyncio.run(play())


def test_a_piece_that_cannot_be_read_costs_only_what_comes_after_it():
    piece = msgspec.json.encode(Drafts(index=1, answers=[], open=[]))
    turn = msgspec.structs.replace(TURN, draft=piece + b"\n{")
    assert unkept(turn, TurnState(TURN, AGENT)).index == 1
