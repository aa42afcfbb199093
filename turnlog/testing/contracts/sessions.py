"""The contracts of Sessions and of the Audit."""

import asyncio
from typing import Any

import msgspec
import pytest

from turnlog.errors import NotFound
from turnlog.ports import Session, Store
from turnlog.projections.proof import prove
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import EVERY_PROJECTION, Contract, Opened, said


class SessionsContract(Contract):
    """Who owns which conversation."""

    async def test_a_session_comes_back_as_it_was_created(self, store: Store) -> None:
        session = s.new_session("s", "alice")
        await store.create_session(session)
        assert await store.get_session("alice", "s") == session

    async def test_an_unknown_session_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.get_session("alice", "nowhere")

    async def test_someone_elses_session_looks_like_an_unknown_one(self, store: Store) -> None:
        await store.create_session(s.new_session("s1", "alice"))
        with pytest.raises(NotFound) as foreign:
            await store.get_session("bob", "s1")
        with pytest.raises(NotFound) as unknown:
            await store.get_session("bob", "s2")
        assert str(foreign.value).replace("s1", "s2") == str(unknown.value)

    async def test_sessions_are_listed_newest_first(self, store: Store) -> None:
        made = await self._made(store, "cab")
        assert await store.list_sessions("alice", limit=9) == made[::-1]
        assert await store.list_sessions("nobody", limit=9) == []

    async def test_pages_hold_every_session_once(self, store: Store) -> None:
        """Also those of one moment, which stand in some order, always the same."""
        names = "abcdefg"
        for name in names:
            await store.create_session(s.new_session(name, "alice"))
        seen: list[str] = []
        while page := await store.list_sessions("alice", limit=3, after=seen[-1] if seen else None):
            assert len(page) <= 3
            seen += [session.id for session in page]
        assert (len(seen), sorted(seen)) == (7, list(names))

    async def test_a_page_goes_on_after_a_session_that_was_archived(self, store: Store) -> None:
        c, b, a = (await self._made(store, "abc"))[::-1]
        await store.update_session("alice", b.id, archived=True)
        assert await store.list_sessions("alice", limit=9, after=b.id) == [a]
        assert await store.list_sessions("alice", limit=9) == [c, a]
        archived = await store.list_sessions("alice", limit=9, archived=True)
        assert [session.id for session in archived] == ["b"]

    async def test_nothing_of_another_users_is_listed(self, store: Store) -> None:
        await store.create_session(s.new_session("hers", "alice"))
        await store.create_session(s.new_session("his", "bob"))
        assert [found.id for found in await store.list_sessions("bob", limit=9)] == ["his"]
        with pytest.raises(NotFound):
            await store.list_sessions("bob", limit=9, after="hers")

    @pytest.mark.parametrize(
        "changes",
        [
            {"title": "Other"},
            {"archived": True},
            {"thinking_enabled": True, "thinking_budget": 2000},
            {},
        ],
    )
    async def test_a_change_changes_that_and_nothing_else(
        self, store: Store, changes: dict[str, Any]
    ) -> None:
        session, other = await self._made(store, "ab")
        changed = await store.update_session("alice", "a", **changes)
        assert changed == msgspec.structs.replace(session, **changes)
        assert await store.get_session("alice", "a") == changed
        assert await store.get_session("alice", "b") == other

    async def test_someone_elses_session_cannot_be_changed(self, store: Store) -> None:
        session = s.new_session("s", "alice")
        await store.create_session(session)
        for user, name in (("bob", "s"), ("alice", "nowhere")):
            with pytest.raises(NotFound):
                await store.update_session(user, name, title="Mine now")
        assert await store.get_session("alice", "s") == session

    async def test_a_session_says_what_goes_on_in_it(self, store: Store) -> None:
        await store.create_session(s.new_session("idle", "alice"))
        turn = await self.begun(store, "busy")
        busy = await store.get_session("alice", "busy")
        assert (busy.state, busy.turn_id) == ("running", turn.id)
        assert busy.last_activity_at == (await store.read("alice", "busy"))[-1].envelope.time
        listed = {one.id: one for one in await store.list_sessions("alice", limit=9)}
        assert listed["busy"] == busy
        assert (listed["idle"].state, listed["idle"].turn_id) == ("idle", None)
        await store.suspend_turn(turn)
        assert (await store.get_session("alice", "busy")).state == "waiting"
        again = await store.claim_waiting("alice", "busy")
        assert again is not None
        await store.finish_turn(again)
        over = await store.get_session("alice", "busy")
        assert (over.state, over.turn_id) == ("idle", None)

    @pytest.mark.parametrize(
        ("search", "found"),
        [
            ("straße", "c"),
            ("STRASSE", "c"),
            ("duck", "ba"),
            ("UCK", "ba"),
            ("%", ""),
            ("_", ""),
            ("goose", ""),
            ("", "cba"),
        ],
    )
    async def test_sessions_are_found_by_their_titles_in_any_case(
        self, store: Store, search: str, found: str
    ) -> None:
        await self._made(store, "abc")
        for name, title in {"a": "Ducks", "b": "A duck pond", "c": "Die Straße"}.items():
            await store.update_session("alice", name, title=title)
        await store.create_session(s.new_session("his", "bob"))
        await store.update_session("bob", "his", title="His duck")
        listed = await store.list_sessions("alice", limit=9, search=search)
        assert "".join(session.id for session in listed) == found

    @pytest.mark.parametrize(
        ("search", "found"),
        [
            ("straße", "a"),
            ("STRASSE", "a"),
            ("MALLARDS", "b"),
            ("a drake", "b"),  # across two blocks of text
            ("ducks", "ba"),
            ('say "quack"', "a"),  # escaped in the log
            ("type", ""),  # in the log, but nobody said it
            ("secret", ""),  # thought, done by a tool, or told to nobody
            ("%", ""),
            ("|", ""),
        ],
    )
    async def test_sessions_are_found_by_what_was_asked_and_answered(
        self, store: Store, search: str, found: str
    ) -> None:
        await self._made(store, "abc")
        thought = {"type": "thinking", "thinking": "secret", "signature": "x"}
        other = {"type": "of_tomorrow", "text": "secret"}
        for name, user, question, *answer in (
            ("a", "alice", 'Ducks in the Straße?\nThey say "quack".', "No."),
            (
                "b",
                "alice",
                "Ducks?",
                thought,
                other,
                "Mallards: a dr",
                "ake.",
                s.call("t", "secret"),
            ),
            ("his", "bob", "My ducks of the Straße", "Mallards, a drake"),
        ):
            if user == "bob":
                await store.create_session(s.new_session(name, user))
            turn = s.new_turn(f"t-{name}", name, user)
            turn = await store.begin_turn(turn, s.placed(s.asked(question)))
            (hidden,) = s.placed(s.said("secret"))
            hidden = msgspec.structs.replace(hidden, internal=True, index=None)
            await store.append(turn, [*s.placed(s.said(*answer, stop="tool_use")), hidden])
        listed = await store.list_sessions("alice", limit=9, search=search)
        assert "".join(session.id for session in listed) == found
        assert await store.list_sessions("nobody", limit=9, search=search) == []
        assert await store.list_sessions("alice", limit=9, search=search, archived=True) == []
        after = await store.list_sessions("alice", limit=1, after="b", search=search)
        assert "".join(session.id for session in after) == found.removeprefix("b")

    async def test_sessions_are_listed_by_activity(self, store: Store) -> None:
        """Each is on one page, also when one of them goes on between the pages."""
        await self._made(store, "abcd")  # in the first seconds of a minute
        await store.create_session(s.new_session("his", "bob"))
        minutes = {"b": 1, "a": 2, "his": 3}
        for name, minute in minutes.items():
            await self._asked(store, name, minute)
        assert await self._active(store) == "abdc"
        first = await store.list_active_sessions("alice", limit=2)
        below = (first[-1].active_at, first[-1].id)
        assert await self._active(store, below=below) == "dc"
        await self._asked(store, "c", 4)  # not seen yet: moves up
        await self._asked(store, "b", 5)  # the last one of the page
        assert await self._active(store, below=below) == "d"
        assert await self._active(store) == "bcad"
        assert await self._active(store, search="minute 2") == "a"
        assert await self._active(store, archived=True) == ""
        listed = await store.list_active_sessions("alice", limit=9)
        assert listed == [await store.get_session("alice", session.id) for session in listed]

    async def _active(self, store: Store, **asked: Any) -> str:
        listed = await store.list_active_sessions("alice", limit=9, **asked)
        return "".join(session.id for session in listed)

    async def _asked(self, store: Store, name: str, minute: int) -> None:
        """A whole turn in this minute."""
        session = s.new_session(name, "bob" if name == "his" else "alice")
        (question,) = s.placed(s.asked(f"In minute {minute}"))
        question = msgspec.structs.replace(question, time=f"2026-11-15T12:0{minute}:00.000Z")
        turn = s.new_turn(f"t-{name}-{minute}", name, session.user_id)
        await store.finish_turn(await store.begin_turn(turn, [question]))

    async def test_a_session_is_named_once(self, store: Store) -> None:
        nameless = msgspec.structs.replace(s.new_session("s"), title="")
        await store.create_session(nameless)
        for turn, title in (("t1", ""), ("t2", "Ducks"), ("t3", "Geese")):
            begun = await store.begin_turn(s.new_turn(turn), s.placed(s.asked()), title)
            await store.finish_turn(begun)
        assert (await store.get_session("alice", "s")).title == "Ducks"
        with pytest.raises(NotFound):
            await store.begin_turn(s.new_turn("t4", "s", "bob"), s.placed(s.asked()), "Mine")

    async def _made(self, store: Store, names: str) -> list[Session]:
        """A session for each name, in this order."""
        made = [
            msgspec.structs.replace(s.new_session(name), created_at=f"2026-11-15T12:00:0{n}.000Z")
            for n, name in enumerate(names)
        ]
        for session in made:
            await store.create_session(session)
        return made


class AuditContract(Contract):
    """For those who may see everything."""

    async def test_every_session_is_listed(self, store: Store) -> None:
        for name, user in (("one", "alice"), ("other", "bob")):
            await store.create_session(s.new_session(name, user))
        assert sorted(await store.session_ids()) == ["one", "other"]

    async def test_there_is_no_evidence_of_what_never_was(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.evidence("nowhere")

    async def test_whole_sessions_are_proven(self, store: Store) -> None:
        turn = await self.begun(store)
        await store.append(turn, s.placed(*EVERY_PROJECTION))
        proof = prove(await store.evidence("s"))
        assert (proof.first, proof.last, proof.count) == (0, 7, 8)
        assert proof.problems == []

    async def test_evidence_is_of_one_moment(self, opened: Opened) -> None:
        store, writing = await opened(), await opened()
        turn = await self.begun(writing)
        for _ in range(40):
            appending = asyncio.ensure_future(writing.append(turn, said(3)))
            assert prove(await store.evidence("s")).problems == []
            await appending
        assert len((await store.evidence("s")).log) == 121
