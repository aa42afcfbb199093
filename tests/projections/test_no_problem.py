"""What looks odd in a log and is no problem for `turnlog verify`."""

from turnlog.projections.proof import prove
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s


async def test_an_open_tool_of_a_running_turn_is_no_problem():
    store = MemoryStore()
    await store.create_session(s.new_session())
    turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()))
    await store.append(turn, s.placed(s.said(s.call("a"), stop="tool_use"), s.used("a")))
    assert prove(await store.evidence("s")).ok
    await store.finish_turn(turn)
    assert prove(await store.evidence("s")).unpaired_tools == ["a was asked for and has no result"]


async def test_a_model_that_says_tool_use_and_asks_for_none_is_no_problem():
    """A log from before such an answer was kept as `end_turn`."""
    store = MemoryStore()
    await s.keep(store, [s.asked(), s.said("Hello.", stop="tool_use")])
    assert prove(await store.evidence("s")).problems == []
