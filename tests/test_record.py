"""Rows of the log: an event with its place, sealed onto the row before."""

import pytest

from turnlog import Settings
from turnlog.errors import UnknownEvent
from turnlog.events.rows.record import NO_SEAL, BareRecord, Record, records, sealed, stamped
from turnlog.events.rows.seal import KEYED, Seals
from turnlog.testing import samples as s

KEY = "a key of at least 32 characters, say"


def rows(*events, key=None):
    seals = Seals(key).of("alice")
    return records("s", "t", s.placed(*events), 0, NO_SEAL, seals)


def is_sealed(row, before, owner="alice", **how):
    return Seals(**how).form(row, before, owner) is not None


def test_a_bare_record_is_the_beginning_of_a_record():
    bare = BareRecord.__struct_fields__
    assert Record._fields[: len(bare)] == bare
    assert Record._fields[len(bare) :] == ("salt", "digest", "seal")


def test_a_row_holds_its_event_and_its_place():
    events = s.placed(s.asked(), s.k.HistoryAnchored(anchor=0), s.said("Hi."))
    found = [stamped(row) for row in records("s", "t", events, 5, b"before")]
    assert [entry.envelope for entry in found] == events
    assert [(entry.seq, entry.position) for entry in found] == [(5, 5), (6, 6), (7, 7)]


def test_a_seal_holds_every_field_of_its_row():
    (row,) = rows(s.asked())
    changes = dict.fromkeys(row._fields, "x") | {"seq": 9, "event_index": 9, "is_internal": True}
    changes |= {"body": b"{}", "version": 9, "salt": bytes(16), "digest": bytes(32)}
    assert is_sealed(row, NO_SEAL)
    for name, value in changes.items():
        assert not is_sealed(row._replace(**{name: value}), NO_SEAL), name


def test_a_row_whose_content_was_erased_keeps_its_seal():
    (row,) = rows(s.asked("My name is Ann."))
    erased = row._replace(body=b"", salt=b"")
    assert (row.is_erased, erased.is_erased) == (False, True)
    assert is_sealed(erased, NO_SEAL)
    assert not is_sealed(erased._replace(at="x"), NO_SEAL)
    with pytest.raises(UnknownEvent, match="was erased"):
        stamped(erased)


def test_the_same_content_has_another_digest_each_time():
    """So nobody finds what was erased by guessing it."""
    event = s.asked("Yes.")
    (one,), (two,) = rows(event), rows(event)
    assert one.body == two.body and one.digest != two.digest


def test_a_row_from_before_there_were_digests_is_sealed_with_its_body():
    (row,) = rows(s.asked("Hello."))
    old = row._replace(salt=None, digest=None)
    old = old._replace(seal=sealed(old, NO_SEAL))
    assert is_sealed(old, NO_SEAL)
    assert not old._replace(body=b"").is_erased
    assert not is_sealed(old._replace(body=b""), NO_SEAL)
    assert not is_sealed(row._replace(salt=None, digest=None), NO_SEAL)


def test_a_seal_holds_all_rows_before():
    one, two = rows(s.asked(), s.said("Hi."))
    assert is_sealed(two, one.seal)
    assert not is_sealed(two, NO_SEAL)


def test_a_seal_names_the_owner():
    (row,) = rows(s.asked())
    assert not is_sealed(row, NO_SEAL, "bob")


def test_without_the_key_nobody_makes_a_seal_that_holds():
    (row,) = rows(s.asked(), key=KEY)
    assert Seals(KEY).form(row, NO_SEAL, "alice") == KEYED
    assert not is_sealed(row, NO_SEAL) and not is_sealed(row, NO_SEAL, key=KEY + "!")
    forged = row._replace(agent_name="Eve")
    for resealed in (sealed(forged, NO_SEAL), Seals().seal(forged, NO_SEAL, "alice")):
        form = Seals(KEY).form(forged._replace(seal=resealed), NO_SEAL, "alice")
        assert form < Seals(KEY).least(forged) == KEYED


def test_what_was_written_before_there_was_a_key_may_have_none():
    (row,) = rows(s.asked())
    assert Seals(KEY, since="9999").least(row) == 1


def test_a_seal_does_not_depend_on_how_a_store_writes_truth():
    (row,) = rows(s.asked())
    assert is_sealed(row._replace(is_internal=0), NO_SEAL)


@pytest.mark.parametrize("since", ["2000-01-01T01:00:00+02:00", "1999-12-31T23:00:00Z"])
def test_the_time_of_the_key_may_be_of_any_zone(since):
    (row,) = rows(s.asked())
    seals = Settings(seal_key=KEY, seal_key_since=since).seals
    assert seals.least(row._replace(at="1999-12-31T22:59:59.999Z")) == 1
    assert seals.least(row._replace(at="1999-12-31T23:00:00.000Z")) == KEYED
