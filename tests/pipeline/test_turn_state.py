"""The ids of a turn: UUIDs that are made without `uuid`, because each turn makes several."""

import time
import uuid

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef
from turnlog.events.ids import new_id
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Turn
from turnlog.testing import samples as s

ME = AgentRef(id="a", name="A")


def state(turn_id):
    return TurnState(Turn(id=turn_id, session_id="s", user_id="ann"), ME)


def test_a_new_id_is_a_uuid_of_its_time_and_of_chance():
    begun = time.time_ns() // 1_000_000
    made = [uuid.UUID(new_id()) for _ in range(200)]
    over = time.time_ns() // 1_000_000
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    assert all(begun <= each.int >> 80 <= over for each in made)
    assert len({each.int & (1 << 62) - 1 for each in made}) == 200
    assert len({str(each)[19] for each in made}) == 4  # every variant that there may be


def test_the_id_of_complete_is_that_of_every_earlier_release():
    """Logs are read again, and whoever saw `complete` before knows it by its id."""
    ending = k.Complete(reason="success", stop_reason="end_turn", model="m", tools_used=[],
                        token_usage=s.said("Hi").token_usage)  # fmt: skip
    for turn_id in (new_id() for _ in range(50)):
        expected = uuid.uuid5(uuid.NAMESPACE_URL, f"turnlog:{turn_id}:complete")
        assert state(turn_id).event_id(ending) == str(expected)
        assert state(turn_id).event_id(ending) == str(expected)


def test_event_ids_of_a_turn_are_uuids_and_differ():
    one, other = state("t1"), state("t1")  # a turn that was resumed
    made = [each.event_id(s.said("Hi")) for each in (one, other) for _ in range(3)]
    assert len(set(made)) == 6
    assert {uuid.UUID(each).variant for each in made} == {uuid.RFC_4122}
