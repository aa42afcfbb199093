"""The contracts of Sessions and of the Audit."""

import asyncio

import pytest

from turnlog.errors import NotFound
from turnlog.ports import Store
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
            appending = asyncio.create_task(writing.append(turn, said(3)))
            assert prove(await store.evidence("s")).problems == []
            await appending
        assert len((await store.evidence("s")).log) == 121
