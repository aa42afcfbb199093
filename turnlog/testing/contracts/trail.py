"""What every store promises to auditors."""

import pytest

from turnlog.errors import NotFound
from turnlog.events.rows.seal import Seals
from turnlog.ports import AuditRead, Store
from turnlog.projections.proof import prove
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import Contract, said


def _read(number: int, session_id: str = "s") -> AuditRead:
    at = f"2026-01-01T00:00:0{number}Z"
    return AuditRead(at=at, auditor="eve", session_id=session_id, what="x")


class TrailContract(Contract):
    """A trail that stays, and everybody's sessions."""

    async def test_what_was_read_is_there_newest_first(self, store: Store) -> None:
        for read in (_read(0), _read(1, "other"), _read(2)):
            await store.audit.add(read)
        assert list(await store.audit.reads()) == [_read(2), _read(1, "other"), _read(0)]
        assert list(await store.audit.reads(session_id="s", limit=1)) == [_read(2)]
        assert await store.audit.flaws() == []

    async def test_an_auditor_sees_everybodys_sessions(self, store: Store) -> None:
        await store.create_session(s.new_session("mine", "alice"))
        await store.create_session(s.new_session("yours", "bob"))
        await store.update_session("bob", "yours", archived=True, title="Geese")
        found = await store.audit.sessions(user_id=None, search="", limit=10, after=None)
        assert {session.id for session in found} >= {"mine", "yours"}
        found = await store.audit.sessions(user_id="bob", search="gee", limit=10, after=None)
        assert [session.id for session in found] == ["yours"]
        after = await store.audit.sessions(user_id="bob", search="", limit=10, after="yours")
        assert list(after) == []
        assert await store.audit.owner("yours") == "bob"
        with pytest.raises(NotFound):
            await store.audit.owner("nowhere")

    async def test_a_log_is_sealed_with_the_key(self, store: Store) -> None:
        key = "x" * 32
        store.seals = Seals(key)
        turn = await self.begun(store)
        await store.append(turn, said(1))
        await store.finish_turn(turn)
        evidence = await store.evidence("s")
        assert prove(evidence, Seals(key)).changed == []
        assert len(prove(evidence, Seals("y" * 32)).changed) == len(evidence.log)

    async def test_a_key_is_changed_and_never_changed_back(self, store: Store) -> None:
        first, second = "x" * 32, "y" * 32
        store.seals = Seals(first)
        turn = await self.begun(store)
        await store.audit.add(_read(1))
        store.seals = Seals(second, old=[first])
        await store.append(turn, said(1))
        await store.audit.add(_read(2))
        assert await store.audit.flaws() == []
        evidence = await store.evidence("s")
        assert prove(evidence, store.seals).changed == []
        assert prove(evidence, Seals(second)).changed != []
        store.seals = Seals(first, old=[second])  # somebody who found the former key
        await store.append(turn, said(1))
        (flaw,) = prove(await store.evidence("s"), Seals(second, old=[first])).changed
        assert flaw.endswith("is sealed anew")
