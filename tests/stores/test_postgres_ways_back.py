"""PostgreSQL: the way back of each migration, with everything in the log that may be there."""

import msgspec
import pytest
from stores.evidence import stored

from turnlog.events import kinds as k
from turnlog.stores.postgres.migrations import go_back, migrate, migrations
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import EVERY_PROJECTION

pytestmark = pytest.mark.slow
DECISIONS = (k.ApprovalResolved, k.ToolSettled)  # on something; EVERY_PROJECTION has one
KEPT = [kind for kind in k.KINDS.values() if kind.kept and kind not in (*DECISIONS, k.Error)]
ERASE = """
SET session_replication_role = replica; -- no trigger fires
UPDATE events SET body = '', salt = '' WHERE session_id = 'erased';
SET session_replication_role = DEFAULT
"""


def least(kind):
    """With the fields that it must have: as it is stored where the others are as ever."""
    needed = [field for field in msgspec.structs.fields(kind) if field.required]
    return kind(**{field.name: anything(field.type) for field in needed})


def anything(wanted):
    for value in (s.fresh("id"), 0, False, [], {}):
        try:
            return msgspec.convert(value, wanted)
        except msgspec.ValidationError:
            pass
    raise AssertionError(f"what is a {wanted}?")


async def test_a_log_is_the_same_after_the_way_back_and_forth(db, database):
    async with open_store(database) as store:
        await s.keep(store, [s.asked(), *EVERY_PROJECTION, *map(least, KEPT), least(k.Error)])
        await s.keep(store, [s.asked(), s.said("Secret.")], session=s.new_session("erased"))
        await db.execute(ERASE)
        before = [await stored(store, name) for name in ("s", "erased")]
    numbers = [change.number for change in migrations()]
    for number in reversed(numbers[1:]):
        await go_back(db, number - 1)
        assert await migrate(db) == numbers[number - 1 :]
        async with open_store(database, read_only=True) as store:
            assert [await stored(store, name) for name in ("s", "erased")] == before
    assert await go_back(db, 6) == numbers[:5:-1]
    texts = "SELECT content FROM messages WHERE session_id = 'erased' ORDER BY seq"
    nothing = ['[{"type" : "text", "text" : null}]', "[]"]
    assert [row[0] for row in await db.fetch(texts)] == nothing
    assert await db.fetchval("SELECT reported FROM usage WHERE session_id = 'erased'") == "{}"
    assert await go_back(db, 0) == numbers[5::-1]
    await migrate(db)
