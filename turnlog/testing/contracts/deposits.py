"""What every table of deposits promises."""

import msgspec

from turnlog.ports import Store
from turnlog.ports.storage.deposits import Deposit
from turnlog.testing.contracts.base import Contract
from turnlog.testing.contracts.files import QUOTA, file

NOW = "2026-11-17T00:00:00.000Z"
LATER = "2026-11-18T00:00:00.000Z"
LAST = "2026-11-19T00:00:00.000Z"


def deposit(name: str, file_id: str = "id-ann-a", expires_at: str = LATER) -> Deposit:
    return Deposit(
        account="account",
        provider_id=name,
        user_id="ann",
        file_id=file_id,
        part="original",
        expires_at=expires_at,
    )


class DepositsContract(Contract):
    """What rests with a provider is known until it is gone there."""

    async def test_the_deposit_that_lasts_longest_is_found(self, store: Store) -> None:
        table = store.deposits
        await table.add(deposit("first"))
        await table.add(deposit("second", expires_at=LAST))
        found = await table.find("account", "ann", "id-ann-a", "original", NOW)
        assert found == deposit("second", expires_at=LAST)
        assert await table.find("account", "ann", "id-ann-a", "original", LAST) is None

    async def test_a_deposit_is_of_one_account_one_user_one_file_and_one_part(
        self, store: Store
    ) -> None:
        table = store.deposits
        await table.add(deposit("first"))
        assert await table.find("other", "ann", "id-ann-a", "original", NOW) is None
        assert await table.find("account", "bob", "id-ann-a", "original", NOW) is None
        assert await table.find("account", "ann", "id-ann-b", "original", NOW) is None
        assert await table.find("account", "ann", "id-ann-a", "model", NOW) is None
        assert await table.every("other", limit=9) == []

    async def test_a_deposit_without_its_file_is_an_orphan(self, store: Store) -> None:
        kept = await store.files.add(file("a"), quota=QUOTA)
        table = store.deposits
        await table.add(deposit("kept", kept.id))
        await table.add(deposit("lost", "id-ann-b"))
        assert await table.orphans("account", limit=9) == [deposit("lost", "id-ann-b")]
        await store.files.mark_deleted("ann", kept.id)
        assert len(await table.orphans("account", limit=9)) == 2
        assert len(await table.orphans("account", limit=1)) == 1
        assert await table.orphans("other", limit=9) == []

    async def test_what_is_forgotten_or_expired_is_not_found(self, store: Store) -> None:
        table = store.deposits
        await table.add(deposit("first"))
        await table.add(deposit("second", expires_at=LAST))
        await table.add(msgspec.structs.replace(deposit("first"), account="other"))
        await table.forget_expired(LATER)
        assert await table.every("account", limit=9) == [deposit("second", expires_at=LAST)]
        assert await table.every("other", limit=9) == []
        await table.forget(deposit("second"))
        assert await table.every("account", limit=9) == []
