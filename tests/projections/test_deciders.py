"""Who decided on an approval: `turnlog verify` compares it with who may."""

import msgspec
import pytest

from turnlog.projections.proof import prove
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s


@pytest.mark.parametrize(("rule", "who", "ok"), [
    ("asker", "alice", True), ("asker", "bob", False),
    ("others", "bob", True), ("others:finance", "alice", False),
    ("role:finance", "bob", True), ("role:finance", "alice", True),
])  # fmt: skip
async def test_a_decision_of_somebody_who_may_not_decide_is_found(rule, who, ok):
    store = MemoryStore()
    asked = msgspec.structs.replace(s.approval("ok?", "a"), may_decide=rule)
    decided = msgspec.structs.replace(s.decision("ok?"), decided_by=who)
    calls = [s.asked(), s.said(s.call("a"), stop="tool_use"), s.used("a"), asked, decided]
    await s.keep(store, [*calls, s.result("a"), s.said("Done.")])
    found = prove(await store.evidence("s")).orphan_approvals
    wrong = f"ok? was decided by {who!r}, who may not: it is for {rule!r}"
    assert found == ([] if ok else [wrong])
