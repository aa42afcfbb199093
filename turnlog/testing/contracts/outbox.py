"""The contract of the outbox: notices are written with their events, and sent by one at a time."""

import pytest
from msgspec.structs import replace

from turnlog.errors import TurnOver
from turnlog.events.content import TokenUsage
from turnlog.events.kinds import Complete
from turnlog.ports import Notice, Store
from turnlog.projections.notices import TYPES, Notices
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import Contract, Opened

SOON, LATER = "2099-01-01T00:00:00.000Z", "2099-01-02T00:00:00.000Z"
DONE = Complete(
    reason="success", stop_reason="end_turn", token_usage=TokenUsage(), model="m", tools_used=[]
)


def listening(store: Store, *names: str) -> Store:
    store.outbox.announcer = Notices(dict.fromkeys(names or ("crm",), TYPES))
    return store


def types(notices: list[Notice]) -> list[str]:
    return sorted(notice.type for notice in notices)


class OutboxContract(Contract):
    """A notice is there as soon as its event is, and is nobody else's once it is claimed."""

    async def told(self, store: Store) -> None:
        """A turn with three things to tell of: asked, decided, ended."""
        turn = await self.begun(store)
        events = [s.said(s.call("a"), stop="tool_use"), s.used("a"), s.approval("ok", "a")]
        await store.append(turn, s.placed(*events))
        await store.append(turn, s.placed(s.decision("ok"), s.result("a"), s.said("Done.")))
        await store.finish_turn(turn, DONE)

    async def test_notices_are_written_with_their_events(self, store: Store) -> None:
        written: list[int] = []
        listening(store).outbox.on_written = lambda: written.append(1)
        await self.told(store)
        notices = await store.outbox.page()
        assert types(notices) == ["approval.decided", "approval.requested", "turn.ended"]
        assert {notice.user_id for notice in notices} == {"alice"}
        assert written

    async def test_an_end_that_comes_with_an_answer_is_told_too(self, store: Store) -> None:
        listening(store)
        turn = await self.begun(store)
        await store.append(turn, s.placed(s.said("Done.")), DONE)
        assert types(await store.outbox.page()) == ["turn.ended"]

    async def test_an_event_that_is_not_stored_leaves_no_notice(self, store: Store) -> None:
        listening(store)
        turn = await self.begun(store)
        await store.finish_turn(turn, DONE)
        with pytest.raises(TurnOver):
            await store.append(turn, s.placed(s.broke()))
        with pytest.raises(TurnOver):
            await store.finish_turn(turn, DONE)
        assert types(await store.outbox.page()) == ["turn.ended"]

    async def test_without_endpoints_there_are_no_notices(self, store: Store) -> None:
        await self.told(store)
        assert await store.outbox.page() == []

    async def test_each_endpoint_has_its_own(self, store: Store) -> None:
        await self.told(listening(store, "crm", "pager"))
        for name in ("crm", "pager"):
            assert len(await store.outbox.claim(name, SOON, LATER, 10)) == 3
        assert await store.outbox.claim("stranger", SOON, LATER, 10) == []

    async def test_a_claimed_notice_is_nobody_else_s_until_then(self, opened: Opened) -> None:
        one, two = listening(await opened()), await opened()
        await self.told(one)
        first = await one.outbox.claim("crm", SOON, LATER, 2)
        rest = await two.outbox.claim("crm", SOON, LATER, 10)
        assert len({notice.id for notice in (*first, *rest)}) == len(first) + len(rest) == 3
        assert await two.outbox.claim("crm", SOON, LATER, 10) == []
        assert await two.outbox.next_due("crm") == LATER
        assert len(await two.outbox.claim("crm", LATER, LATER, 10)) == 3

    async def test_what_came_of_a_try_is_remembered(self, opened: Opened) -> None:
        one, two = listening(await opened()), await opened()
        await self.told(one)
        for notice, status in zip(
            await one.outbox.claim("crm", SOON, LATER, 10),
            ("delivered", "failed", "waiting"),
            strict=True,
        ):
            tried = {"status": status, "tries": 1, "due_at": SOON, "outcome": "200"}
            await one.outbox.settle(replace(notice, **tried))
        listed = await two.outbox.page()
        assert sorted(notice.status for notice in listed) == ["delivered", "failed", "waiting"]
        assert {(n.tries, n.outcome) for n in listed} == {(1, "200")}
        assert [n.status for n in await two.outbox.page(status="failed")] == ["failed"]

    async def test_notices_are_sent_again_by_id_or_by_status(self, store: Store) -> None:
        await self.told(listening(store))
        for notice in await store.outbox.claim("crm", SOON, LATER, 10):
            tried = {"status": "failed", "tries": 9, "due_at": LATER}
            await store.outbox.settle(replace(notice, **tried))
        (one, *_) = await store.outbox.page()
        assert await store.outbox.replay(SOON, id=one.id) == 1
        (again,) = await store.outbox.claim("crm", SOON, LATER, 10)
        assert (again.id, again.body, again.tries) == (one.id, one.body, 0)
        assert await store.outbox.replay(SOON, status="failed") == 2
        assert await store.outbox.replay(SOON, id="unknown") == 0

    async def test_what_waits_is_never_forgotten(self, store: Store) -> None:
        await self.told(listening(store))
        (one, *_) = await store.outbox.claim("crm", SOON, LATER, 1)
        await store.outbox.settle(replace(one, status="delivered"))
        assert await store.outbox.forget(LATER) == 1
        assert len(await store.outbox.page()) == 2
