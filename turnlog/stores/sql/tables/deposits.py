"""Deposits on a connection."""

from collections.abc import Mapping

import msgspec

from turnlog.ports.files import Part
from turnlog.ports.storage.deposits import Deposit
from turnlog.stores.sql.connection import Connection, OnConnection
from turnlog.stores.sql.statements import SQL, insert

_COLUMNS = Deposit.__struct_fields__  # the statements list them in this order


class SqlDeposits:
    """Deposits on any SQL database."""

    def __init__(self, look: OnConnection, change: OnConnection) -> None:
        self._look = look
        self._change = change

    async def add(self, deposit: Deposit) -> None:
        row = msgspec.structs.asdict(deposit)
        await self._change(lambda db: db.execute(insert("deposits", _COLUMNS), row))

    async def find(
        self, account: str, user_id: str, file_id: str, part: Part, now: str
    ) -> Deposit | None:
        found = await self._of_file(account, user_id, file_id)
        lasting = [each for each in found if each.part == part and each.expires_at > now]
        return max(lasting, key=lambda each: each.expires_at, default=None)

    async def _of_file(self, account: str, user_id: str, file_id: str) -> list[Deposit]:
        place = {"account": account, "user_id": user_id, "file_id": file_id}
        return await self._look(lambda db: _deposits(db, "list_deposits_of_file", place))

    async def orphans(self, account: str, *, limit: int) -> list[Deposit]:
        bounds = {"account": account, "limit": limit}
        return await self._look(lambda db: _deposits(db, "list_orphan_deposits", bounds))

    async def every(self, account: str, *, limit: int) -> list[Deposit]:
        bounds = {"account": account, "limit": limit}
        return await self._look(lambda db: _deposits(db, "list_deposits", bounds))

    async def forget(self, deposit: Deposit) -> None:
        key = {"account": deposit.account, "provider_id": deposit.provider_id}
        await self._change(lambda db: db.execute(SQL["forget_deposit"], key))

    async def forget_expired(self, now: str) -> None:
        await self._change(lambda db: db.execute(SQL["forget_expired_deposits"], {"now": now}))


def _deposits(db: Connection, statement: str, values: Mapping[str, object]) -> list[Deposit]:
    rows = db.execute(SQL[statement], values)
    return [Deposit(**dict(zip(_COLUMNS, row, strict=True))) for row in rows]
