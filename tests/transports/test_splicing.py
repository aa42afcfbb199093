"""A reload is spliced from the rows of the log, and says what the events themselves say."""

from decimal import Decimal

import msgspec
import pytest
from msgspec.structs import fields, replace

from turnlog.errors import UnknownEvent
from turnlog.events import kinds as k
from turnlog.events.rows.erasure import ERASED_TEXT, shown
from turnlog.events.rows.record import NO_SEAL, records, stamped
from turnlog.testing import samples as s
from turnlog.transports import splicing, wire

EXACT = msgspec.json.Decoder(float_hook=Decimal)
QUOTED = 'He said "€ 5, 😀 and \\u0041".\n\t\x1f'
CITATION = {"type": "char_location", "cited_text": "It is.", "document_index": 0}
WISHES = [{"name": "content", "input_schema": {"fileDetails": [], "messageId": "no"}}]
FILE = {"id": "f", "name": QUOTED, "mediaType": "image/png", "size": 1}


def cited(*citations):
    return s.text("Cited.") | {"citations": [*citations]}


# fmt: off
EVENTS = [
    s.asked(QUOTED),
    replace(s.asked(), files=[FILE], file_details=[{"pages": 3}], client_tools=WISHES,
            request_id=QUOTED, roles=["clerk"], enable_thinking=True, thinking_budget=2000),
    k.Thinking(message_id="m", content=QUOTED, signature="secret"),
    k.Thinking(message_id="m", content="", block_index=3, duration=7, thinking_tokens=0,
               redacted=True),
    s.used("a", text=QUOTED, number=1.5e300, big=2**70, inner={"type": "message", "note": None}),
    s.result("a", {"note": None, "inDoubt": False}),
    replace(s.result("a", None), note="for the model alone"),
    s.failed("a", QUOTED), s.failed("a", ""), s.unclear("a"),
    s.said(), s.said(QUOTED), s.said("One. ", s.call("a", text="no"), "Two."),
    s.said("Hm.", {"type": "odd", "text": 5}),
    s.said(cited(CITATION)), s.said(cited(), s.text("") | {"citations": None}),
    replace(s.said(cited(CITATION)), cited=[{"file": "f"}]),
    replace(s.said("Cut."), block_indexes=[4]),
    replace(s.said("Dear."), cost_usd=Decimal("0.100000000000000000001"), costs=[None]),
    replace(s.said("Free."), cost_usd=Decimal(0), prefix="secret", reported={"content": "secret"}),
    replace(s.said("No."), details={"stop_details": {"type": "refusal"}, "container": None}),
    replace(s.said("Yes."), details={"stop_details": None, "container": {"id": "c"}}),
    s.approval("ok?", "a"), s.decision("ok?"), s.broke(),
]
# fmt: on


def row_of(event):
    (row,) = records("s", "t", s.placed(event, first_index=4), 7, NO_SEAL)
    return row


def spliced(row):
    return page([row])[1:-1]


def page(rows):
    return wire.as_json(splicing.spliced([row.bare for row in rows]))


def read(shown):
    """Every digit counts."""
    return EXACT.decode(shown)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_a_spliced_event_is_the_encoded_one(event):
    row = row_of(event)
    assert read(spliced(row)) == read(wire.encode(stamped(row)))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_a_row_may_have_every_field(event):
    """As rows were stored once, also with what is as ever."""
    row = row_of(event)._replace(body=msgspec.json.encode(event))
    assert read(spliced(row)) == read(wire.encode(stamped(row)))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_a_row_that_is_older_than_its_fields_has_their_defaults(event):
    row = row_of(event)
    body = msgspec.json.decode(row.body)
    younger = [each.encode_name for each in fields(event) if not each.required]
    for missing in (*([name] for name in younger), younger):
        old = {name: value for name, value in body.items() if name not in missing}
        row = row._replace(body=msgspec.json.encode(old))
        assert read(spliced(row)) == read(wire.encode(stamped(row)))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_the_order_of_the_fields_in_a_row_does_not_matter(event):
    row = row_of(event)
    body = msgspec.json.decode(row.body)
    row = row._replace(body=msgspec.json.encode(dict(reversed(body.items()))))
    assert read(spliced(row)) == read(wire.encode(stamped(row)))


def test_every_field_that_is_shown_is_spliced():
    """A field that is added to a kind is added here, too."""
    for part in splicing.PARTS:
        kind = k.KINDS[part.__struct_config__.tag]
        names = set(kind.__struct_encode_fields__) - kind.log_only
        if part is splicing.Answer:
            names |= {"content", "citations"}
            names |= {"cited", "blockIndexes", "details"}  # say whether it must be decoded
        fields = set(part.__struct_encode_fields__) - set(splicing.Part.__struct_encode_fields__)
        assert fields == names, part
        assert kind.shown_as == "persisted"


def test_what_is_made_of_the_blocks_of_an_answer_is_not_taken_from_its_row():
    row = row_of(s.said("Hi."))
    made = {"content": "No.", "citations": [CITATION]}
    row = row._replace(body=msgspec.json.encode(msgspec.json.decode(row.body) | made))
    assert read(spliced(row)) == read(wire.encode(stamped(row)))


def test_most_rows_are_not_decoded(monkeypatch):
    monkeypatch.setattr(splicing, "shown", None)
    for event in (s.asked(), s.said("Hi.", s.call("a")), s.used("a"), s.result("a")):
        spliced(row_of(event))


def test_what_cannot_be_read_is_refused_as_ever():
    row = row_of(s.asked())
    for unknown in (row._replace(version=99), row._replace(type="odd")):
        with pytest.raises(UnknownEvent):
            spliced(unknown)


def test_what_was_erased_says_so():
    row = row_of(s.asked("A secret."))._replace(body=b"", salt=None)
    assert read(spliced(row)) == read(wire.encode(shown(row)))
    assert ERASED_TEXT.encode() in spliced(row)


def test_a_page_is_its_events_in_their_order():
    rows = [row_of(event)._replace(seq=seq) for seq, event in enumerate(EVENTS)]
    erased = [row._replace(body=b"", salt=None) for row in rows]
    mixed = [row for pair in zip(rows, erased, strict=True) for row in pair]
    assert page(mixed) == b"[%s]" % b",".join(map(spliced, mixed))


def test_of_several_rows_that_cannot_be_read_the_first_is_named():
    newer = row_of(s.asked())._replace(version=99)
    damaged = row_of(s.said("Hi."))
    damaged = damaged._replace(body=damaged.body[:-1])
    with pytest.raises(UnknownEvent):
        page([newer, damaged])
    with pytest.raises(msgspec.DecodeError):
        page([damaged, newer])
