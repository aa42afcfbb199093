"""Sums over charges: every model call counts, internal ones too; nothing is rounded or guessed."""

from datetime import UTC
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from turnlog.errors import BadInput
from turnlog.events.content import TokenUsage, usage_of
from turnlog.events.money import picousd, total, usd
from turnlog.events.usage import parts_of
from turnlog.projections.billing import calendar
from turnlog.projections.billing.bill import charges_of, grouped, key, whole
from turnlog.projections.billing.bill import total as tokens_of
from turnlog.testing import samples as s

BERLIN = ZoneInfo("Europe/Berlin")


def test_the_total_is_what_the_model_reported_for_each_call():
    events = [s.asked(), s.said("One."), s.result("t"), s.said("Two.")]
    assert tokens_of(events) == usage_of({"input_tokens": 20, "output_tokens": 10})
    assert tokens_of([]) == TokenUsage()


def test_cached_tokens_are_not_input_tokens():
    reported = {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": None}
    used = usage_of(reported | {"output_tokens_details": {"thinking_tokens": 2}})
    assert (used.input_tokens, used.cache_read_tokens, used.total_tokens) == (3, 100, 103)
    assert (used + TokenUsage()).thinking_tokens == 2


def test_an_hours_writes_stay_an_hours_where_the_stream_ends_with_a_larger_sum():
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 500}
    reported = {"cache_creation": split, "cache_creation_input_tokens": 700}
    (part,) = parts_of("m", reported)
    assert (part.write_5m_tokens, part.write_1h_tokens) == (0, 700)
    both = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 500}
    (part,) = parts_of("m", reported | {"cache_creation": both})
    assert (part.write_5m_tokens, part.write_1h_tokens) == (200, 500)
    (part,) = parts_of("m", {"cache_creation_input_tokens": 700})
    assert (part.write_5m_tokens, part.write_1h_tokens) == (700, 0)


def test_nonsense_in_a_report_counts_as_nothing():
    nonsense = {"input_tokens": "many", "output_tokens": -3, "iterations": ["x"],
                "cache_creation": [], "output_tokens_details": 7}  # fmt: skip
    assert parts_of("m", nonsense)[0].total_tokens == 0


def test_money_is_whole_picodollars_both_ways():
    for text in ("0", "0.1", "12", "0.000000000001", "9000000.000000000001"):
        assert usd(picousd(Decimal(text))) == Decimal(text)
    assert str(usd(10**13)) == "10"
    with pytest.raises(ValueError, match="decimals"):
        picousd(Decimal("0.0000000000001"))


def test_a_sum_with_an_unknown_in_it_is_unknown():
    assert total([Decimal("0.1")] * 3) == Decimal("0.3")
    assert total([Decimal(1), None]) is None
    assert total([]) == 0
    assert str(total([Decimal("1.50")])) == "1.5"
    with pytest.raises(ValueError, match="more than 12 decimals"):
        total([Decimal("1e-13")])


ADVISED = {
    "input_tokens": 20, "output_tokens": 4,
    "output_tokens_details": {"thinking_tokens": 3},
    "server_tool_use": {"web_search_requests": 2},
    "iterations": [
        {"type": "message", "input_tokens": 20, "output_tokens": 4},
        {"type": "advisor_message", "model": "claude-opus-4-8", "input_tokens": 7,
         "output_tokens": 1},
    ],
}  # fmt: skip


def priced(text, costs, reported=None, stop="end_turn", at=s.AT, **place):
    message = replace(s.said(text, stop=stop), costs=costs)
    if reported:
        message = replace(message, reported=reported, token_usage=usage_of(reported))
    log = s.log_of([s.asked(), message])
    log = [replace(each, envelope=replace(each.envelope, time=at)) for each in log]
    return charges_of(place.get("user_id", "alice"), log)


def test_an_advised_answer_is_two_rows_each_with_its_model_and_one_call():
    rows = priced("Hi.", [Decimal("0.5"), Decimal("0.25")], ADVISED)
    assert [(row.kind, row.model, row.input_tokens) for row in rows] == [
        ("message", "claude-sonnet-5-5", 20),
        ("advisor_message", "claude-opus-4-8", 7),
    ]
    bill = whole(rows)
    assert (bill.calls, bill.total_tokens, bill.web_searches, bill.thinking_tokens) == (1, 32, 2, 3)
    assert bill.cost_usd == Decimal("0.75")
    models = grouped(rows, key("model"))
    assert [models[name].cost_usd for name in models] == [Decimal("0.25"), Decimal("0.5")]


def test_a_bill_with_an_unpriced_call_says_what_it_knows_and_that_it_is_not_all():
    bill = whole([*priced("Hi.", [Decimal("0.5")]), *priced("Ho.", [])])
    assert bill.cost_usd is None
    assert (bill.unpriced, usd(bill.picousd), bill.calls) == (1, Decimal("0.5"), 2)


def test_an_answer_that_was_cut_off_is_counted_and_marked():
    rows = [*priced("Hi.", [Decimal(1)], stop="interrupted"), *priced("Ho.", [Decimal(1)])]
    assert [row.partial for row in rows] == [1, 0]
    assert (whole(rows).partial, whole(rows).cost_usd) == (1, 2)


def test_calls_are_listed_under_the_tools_that_they_asked_for():
    log = s.log_of([s.asked(), s.said(s.call("a", "look"), s.call("b", "find"), s.call("c", "look"),
                                      s.call("d", "transfer_to_erp"), stop="tool_use"),
                    s.used("a"), s.result("a"), s.said("Done.")])  # fmt: skip
    assert list(grouped(charges_of("alice", log), key("tool"))) == ["(answer)", "look, find"]


# days


def test_a_message_belongs_to_the_day_it_was_where_the_bill_is_read():
    rows = priced("Late.", [Decimal(1)], at="2026-11-15T23:30:00.000Z")
    assert list(grouped(rows, key("day", UTC))) == ["2026-11-15"]
    assert list(grouped(rows, key("day", BERLIN))) == ["2026-11-16"]


DAYS = {  # the day, where, and when it begins in UTC
    "winter": ("2026-11-16", "Europe/Berlin", "2026-11-15T23:00:00.000Z"),
    "the day clocks go back": ("2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00.000Z"),
    "the day after": ("2026-10-26", "Europe/Berlin", "2026-10-25T23:00:00.000Z"),
    "the day clocks go forward": ("2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00.000Z"),
    "a day without midnight": ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00.000Z"),
    "a quarter of an hour": ("2026-01-01", "Asia/Kathmandu", "2025-12-31T18:15:00.000Z"),
    "here": ("2026-01-01", "UTC", "2026-01-01T00:00:00.000Z"),
}


@pytest.mark.parametrize(("day", "where", "begins"), DAYS.values(), ids=DAYS)
def test_a_day_begins_where_its_people_live(day, where, begins):
    assert calendar.moment(day, calendar.zone(where), "startDate") == begins
    assert calendar.day_of(begins, calendar.zone(where)) == day


def test_a_time_with_its_offset_is_taken_as_it_is():
    at = calendar.moment("2026-11-16T01:30:00.250+02:00", UTC, "startDate")
    assert at == "2026-11-15T23:30:00.250Z"


def test_a_month_begins_on_its_first_day():
    now = "2026-10-31T23:30:00.000Z"
    assert calendar.period_begins("month", now, UTC) == "2026-10-01T00:00:00.000Z"
    assert calendar.period_begins("month", now, BERLIN) == "2026-10-31T23:00:00.000Z"
    assert calendar.period_begins("session", now, UTC) is None


@pytest.mark.parametrize("name", ["", "Nowhere/Land", "../etc/passwd", "Europe", "/etc", "x" * 999])
def test_what_is_no_time_zone_is_refused(name):
    with pytest.raises(BadInput, match="is no time zone"):
        calendar.zone(name)


@pytest.mark.parametrize("text", ["", "today", "2026-13-01", "2026-1-1", "0001-01-01", "9" * 99])
def test_what_is_no_day_is_refused(text):
    with pytest.raises(BadInput, match="must be a day"):
        calendar.moment(text, ZoneInfo("Asia/Tokyo"), "startDate")
