"""`turnlog bill`: tables for people, rows for programs, and other prices for the same usage."""

import asyncio
import csv
from decimal import Decimal

import pytest
from msgspec.structs import replace

from turnlog.cli import main
from turnlog.commands.bill import _cache
from turnlog.events.content import usage_of
from turnlog.prices import PriceBook
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s

BIG = {"input_tokens": 100_000, "output_tokens": 10_000}  # 0.2 + 0.1 dollars with Sonnet 5.5
SMALL = {"input_tokens": 10_000, "output_tokens": 0, "cache_read_input_tokens": 100_000}
BOOK = "[[price]]\nmodel = 'claude-*'\ninput = 20\noutput = 100\n"


def answer(reported, model="claude-sonnet-5-5"):
    costs = PriceBook().rate(model, reported, s.AT)
    message = replace(s.said("Hi."), model=model, reported=reported, costs=costs)
    return replace(message, cost_usd=costs[0], token_usage=usage_of(reported))


@pytest.fixture
def data(migrated):
    """Two users on two days; one call of Bob's has no price."""

    async def fill():
        store = SqliteStore(migrated)
        await store.open()
        await s.keep(store, [s.asked(), answer(BIG)], session=s.new_session("one"))
        days = [
            ("alice", "2026-11-16", answer(SMALL)),
            ("bob", "2026-11-16", answer(BIG, "nobody")),
        ]
        for user, day, message in days:
            session = s.new_session(f"{user}-{day}", user)
            await store.create_session(session)
            turn = s.new_turn(session.id, session.id, user)
            turn = replace(turn, started_at=f"{day}T23:30:00.000Z")
            placed = [replace(p, time=f"{day}T23:30:00.000Z") for p in s.placed(s.asked(), message)]
            await store.begin_turn(turn, placed)
        await store.close()

    asyncio.run(fill())
    return migrated


def bill(capsys, data, *args):
    assert main(["bill", "--data", str(data), *args]) == 0
    return capsys.readouterr().out.splitlines()


def test_bill_prints_tables_by_day_model_and_user(capsys, data):
    lines = bill(capsys, data, "--user", "alice")
    assert [line.split()[0] for line in lines if line][:8] == [
        "day", "2026-11-15", "2026-11-16", "model", "claude-sonnet-5-5", "user", "alice", "all",
    ]  # fmt: skip
    days = lines[1:3]
    assert days[0].split()[1:] == ["1", "100,000", "0", "0", "10,000", "0", "0.300000", "█" * 20]
    # 10,000 x 2 + 100,000 x 0.1 = 30,000: a tenth of the other day, two blocks of twenty
    assert days[1].split()[1:] == ["1", "10,000", "0", "100,000", "0", "0", "0.030000", "██"]
    assert lines[-1].startswith("Here a simulated Claude answers")
    assert "2 sessions of 1 user;" in lines[-3]
    assert lines[-2].startswith("The cache saved 0.190000 USD")  # 100,000 x (2 - 0.1)


def test_a_cache_that_cost_more_than_it_saved_says_so():
    assert _cache(-532_000_000) == (
        "The cache cost 0.000532 USD more than it saved: too little of what was written was read"
        " again."
    )


def test_an_unknown_cost_is_marked(capsys, data):
    lines = bill(capsys, data, "--by", "user")
    assert [line.split()[7] for line in lines[1:3]] == ["0.330000", "0.000000*"]
    assert lines[-2] == "* 1 costs are unknown and not in these sums."


def test_days_and_ranges_follow_the_timezone(capsys, data):
    berlin = bill(capsys, data, "--by", "day", "--timezone", "Europe/Berlin")
    assert [line.split()[0] for line in berlin[1:3]] == ["2026-11-15", "2026-11-17"]
    some = bill(capsys, data, "--by", "day", "--from", "2026-11-16", "--to", "2026-11-17")
    assert [line.split()[0] for line in some[:2] + some[3:4]] == ["day", "2026-11-16", "all"]
    assert bill(capsys, data, "--to", "2026-11-15") == ["Nothing was used."]


def test_reprice_uses_another_book_and_changes_nothing(capsys, data, tmp_path):
    (tmp_path / "book.toml").write_text(BOOK)
    before = bill(capsys, data, "--user", "alice", "--by", "model")
    other = bill(
        capsys, data, "--user", "alice", "--by", "model", "--reprice", str(tmp_path / "book.toml")
    )
    # ten times the price of fresh input and output; reads are a tenth of input: 2
    # 110,000 x 20 + 10,000 x 100 + 100,000 x 2 = 3,400,000
    assert other[1].split()[7] == "3.400000"
    assert bill(capsys, data, "--user", "alice", "--by", "model") == before
    assert main(["verify", "--data", str(data)]) == 0


def test_csv_has_a_row_for_each_call(capsys, data):
    rows = list(csv.DictReader(bill(capsys, data, "--csv")))
    assert [row["cost_usd"] for row in rows] == ["0.3", "0.03", ""]
    assert sum(Decimal(row["cost_usd"] or 0) for row in rows) == Decimal("0.33")


@pytest.mark.parametrize("args", [["--from", "x"], ["--timezone", "x"], ["--reprice", "none.toml"]])
def test_a_wrong_option_is_reported(capsys, data, args):
    assert main(["bill", "--data", str(data), *args]) in (1, 2)
    assert capsys.readouterr().err.startswith("turnlog: ")
