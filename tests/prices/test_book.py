"""Prices against invoices that were computed by hand, and books that cannot be."""

import logging
from decimal import Decimal

import pytest

from turnlog.errors import ConfigError
from turnlog.events.money import total, usd
from turnlog.events.usage import UsagePart
from turnlog.prices import PriceBook, read_book
from turnlog.prices.files import built_in
from turnlog.prices.published import published

NOW = "2026-11-16T12:00:00.000Z"


def writes(five_minutes=0, hour=0):
    split = {"ephemeral_5m_input_tokens": five_minutes, "ephemeral_1h_input_tokens": hour}
    return {"cache_creation": split, "cache_creation_input_tokens": five_minutes + hour}


def iteration(kind, inputs, outputs, model=None, **more):
    named = {"model": model} if model else {}
    return {"type": kind, "input_tokens": inputs, "output_tokens": outputs, **named, **more}


# fmt: off
INVOICES = {  # name: (model, when, what was reported, dollars)
    # 100,000 x 3 = 300,000; 10,000 x 15 = 150,000; together 450,000, a million
    "plain": ("claude-sonnet-4-5", NOW, {"input_tokens": 100_000, "output_tokens": 10_000},
              "0.45"),
    # 7 x 2 + 11 x 10 = 124, a million: too small for a rounded bill
    "a few tokens": ("claude-sonnet-5-5", NOW, {"input_tokens": 7, "output_tokens": 11},
                     "0.000124"),
    # 1 x 0.1 a million: the smallest there is
    "one cached token": ("claude-sonnet-5-5", NOW, {"cache_read_input_tokens": 1}, "0.0000001"),
    # input 100 x 3 = 300; 5 min 20,000 x 3.75 = 75,000; read 50,000 x 0.30 = 15,000;
    # output 500 x 15 = 7,500; together 97,800, a million
    "cache": ("claude-sonnet-4-6", NOW,
              {"input_tokens": 100, **writes(20_000), "cache_read_input_tokens": 50_000,
               "output_tokens": 500}, "0.0978"),
    # 1 h 20,000 x 6 = 120,000 (at the 5-minute rate it would be 75,000); output 500 x 15 = 7,500
    "an hour's writes": ("claude-sonnet-4-6", NOW, {**writes(hour=20_000), "output_tokens": 500},
                         "0.1275"),
    # 5 min 1,000 x 5 = 5,000; 1 h 2,000 x 8 = 16,000; read 10,000 x 0.2 = 2,000 (0.05 of input)
    "both writes": ("claude-opus-5-5", NOW,
                    {**writes(1_000, 2_000), "cache_read_input_tokens": 10_000}, "0.023"),
    # read 1,000,000 x 0.25 (0.025 of input); output 100,000 x 50 = 5
    "a model with cheap reads": ("claude-fable-5-1", NOW,
                                 {"cache_read_input_tokens": 1_000_000,
                                  "output_tokens": 100_000}, "5.25"),
    # 10,000 x 2 = 20,000; 1,000 x 10 = 10,000; a million: 0.03; and 3 searches at a cent
    "searches": ("claude-sonnet-5", NOW,
                 {"input_tokens": 10_000, "output_tokens": 1_000,
                  "server_tool_use": {"web_search_requests": 3}}, "0.06"),
    # the prompt has exactly 200,000: 100,000 x 3 + 100,000 x 0.3 + 1,000 x 15 = 345,000
    "at the bound": ("claude-sonnet-4-5", NOW,
                     {"input_tokens": 100_000, "cache_read_input_tokens": 100_000,
                      "output_tokens": 1_000}, "0.345"),
    # one token more, and every token costs more:
    # 100,001 x 6 = 600,006; 100,000 x 0.6 = 60,000; 1,000 x 22.5 = 22,500; together 682,506
    "above the bound": ("claude-sonnet-4-5", NOW,
                        {"input_tokens": 100_001, "cache_read_input_tokens": 100_000,
                         "output_tokens": 1_000}, "0.682506"),
    # above 100,000 every rate is five times: 100,001 x 0.5 = 50,000.5; 10 x 2.5 = 25
    "another bound": ("claude-haiku-5-5", NOW, {"input_tokens": 100_001, "output_tokens": 10},
                      "0.0500255"),
    # until 2026-03-12 long prompts cost 10 and 37.5: 300,000 x 10 = 3 dollars; 1,000 x 37.5
    "before a price changed": ("claude-opus-4-6", "2026-03-12T23:59:59.999Z",
                               {"input_tokens": 300_000, "output_tokens": 1_000}, "3.0375"),
    # from 2026-03-13 on they cost 5 and 25: 1.5 dollars and 0.025
    "after it changed": ("claude-opus-4-6", "2026-03-13T00:00:00.000Z",
                         {"input_tokens": 300_000, "output_tokens": 1_000}, "1.525"),
    # half of 1,000 x 5 + 1,000 x 25 = 30,000; a search costs what it costs
    "batch": ("claude-opus-4-8", NOW,
              {"input_tokens": 1_000, "output_tokens": 1_000, "service_tier": "batch",
               "server_tool_use": {"web_search_requests": 1}}, "0.025"),
    # half of 7 x 0.125: a million: 0.0000004375
    "half of an odd price": ("claude-haiku-5-5", NOW, {**writes(7), "service_tier": "batch"},
                             "0.0000004375"),
    # 1.1 times 1,000 x 5 + 1,000 x 25 = 33,000
    "in the US only": ("claude-opus-4-8", NOW,
                       {"input_tokens": 1_000, "output_tokens": 1_000, "inference_geo": "us"},
                       "0.033"),
    # the API's own sums leave the advisor out: Sonnet 5 2,411 x 2 + 145 x 10 = 6,272;
    # Opus 4.8 2,543 x 5 + 18 x 25 = 13,165; together 19,437
    "advisor": ("claude-sonnet-5", NOW,
                {"input_tokens": 2411, "output_tokens": 145, "iterations": [
                    iteration("message", 1128, 135),
                    iteration("advisor_message", 2543, 18, "claude-opus-4-8"),
                    iteration("message", 1283, 10)]}, "0.019437"),
    # and the compaction: 60,385 x 5 + 522 x 25 = 314,975; 612 x 5 + 2,819 x 25 = 73,535
    "compaction": ("claude-opus-4-8", NOW,
                   {"input_tokens": 612, "output_tokens": 2819, "iterations": [
                       iteration("compaction", 60_385, 522), iteration("message", 612, 2819)]},
                   "0.38851"),
    # Fable 5.1 declined: 1,000 x 10 + 20 x 50 = 11,000; Opus 5.5 answered: 1,000 x 4 + 300 x 20
    # = 10,000; and its hour of cache 500 x 8 = 4,000; a search 10,000; together 35,000
    "fallback": ("claude-fable-5-1", NOW,
                 {"input_tokens": 1000, "output_tokens": 300,
                  "server_tool_use": {"web_search_requests": 1}, "iterations": [
                      iteration("message", 1000, 20, "claude-fable-5-1"),
                      iteration("fallback_message", 1000, 300, "claude-opus-5-5",
                                **writes(hour=500))]}, "0.035"),
    "a dated name": ("claude-haiku-4-5-20251001", NOW, {"input_tokens": 1_000_000}, "1"),
    "nothing": ("claude-sonnet-5-5", NOW, {}, "0"),
    "nothing, by nobody": ("", NOW, {}, "0"),
}
# fmt: on


@pytest.mark.parametrize(("model", "at", "reported", "dollars"), INVOICES.values(), ids=INVOICES)
def test_a_call_costs_what_the_invoice_says(model, at, reported, dollars):
    assert total(PriceBook().rate(model, reported, at)) == Decimal(dollars)


UNKNOWN = {
    "a model": ("claude-nobody-9", {"input_tokens": 1}),
    "a family's next model": ("claude-opus-5-9", {"input_tokens": 1}),
    "a speed": ("claude-opus-4-8", {"input_tokens": 1, "speed": "fast"}),
    "a tier": ("claude-opus-4-8", {"input_tokens": 1, "service_tier": "flex"}),
}


@pytest.mark.parametrize(("model", "reported"), UNKNOWN.values(), ids=UNKNOWN)
def test_a_call_without_a_price_has_no_cost_and_one_warning(model, reported, caplog):
    book = PriceBook()
    with caplog.at_level(logging.WARNING):
        assert [book.rate(model, reported, NOW) for _ in range(3)] == [[None]] * 3
    (record,) = caplog.records
    assert record.facts["model"] == model


def test_one_unknown_part_makes_the_whole_cost_unknown():
    parts = [iteration("message", 1, 1), iteration("advisor_message", 1, 1, "claude-nobody-9")]
    costs = PriceBook().rate("claude-opus-4-8", {"iterations": parts}, NOW)
    assert costs == [Decimal("0.00003"), None] and total(costs) is None


@pytest.mark.parametrize("model", dict(built_in()))
def test_shipped_and_published_prices_agree(model):
    ours = [price for name, price in built_in() if name == model]
    assert sorted(ours, key=lambda price: price.since, reverse=True) == published(model)


def test_a_price_that_is_not_published_comes_from_the_shipped_book():
    book = PriceBook(publish=lambda model: [])
    costs = book.rate("claude-sonnet-5-5", {"input_tokens": 1_000_000}, NOW)
    assert costs == [Decimal(2)]


def test_every_published_price_is_in_whole_picodollars(caplog):
    from genai_prices.data import providers

    (anthropic,) = [provider for provider in providers if provider.id == "anthropic"]
    with caplog.at_level(logging.WARNING):
        assert all(published(model.id) for model in anthropic.models)
    assert not caplog.records


OWN = """
[[price]]
model = "claude-sonnet-5-5"
input = 1.5
output = 7
[[price]]
model = "claude-sonnet-5-5"
since = 2026-12-01
input = 3
output = 9
cache_read = "0.5"
web_search = 25
[[price]]
model = "local-*"
input = 0
output = 0
[[price]]
model = "local-large"
input = 8
output = 8
[[price.above]]
prompt = 1000
input = 16
output = 16
"""


@pytest.fixture
def book(tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    return PriceBook.of(tmp_path / "own.toml")


def test_your_own_price_wins_from_its_first_day(book):
    reported = {"input_tokens": 10_000, "cache_read_input_tokens": 1_000_000}
    searched = {"server_tool_use": {"web_search_requests": 2}}
    # 10,000 x 1.5 = 15,000; read 1,000,000 x 0.15, a tenth; two searches at a cent
    assert book.rate("claude-sonnet-5-5", reported | searched, NOW) == [Decimal("0.185")]
    # 10,000 x 3 + 1,000,000 x 0.5 = 530,000; two searches at 2.5 cents
    assert book.rate("claude-sonnet-5-5", reported | searched, "2026-12-01T00:00:00.000Z") == [
        Decimal("0.58")
    ]


def test_the_closest_name_wins(book):
    reported = {"input_tokens": 1_000}
    assert book.rate("local-small", reported, NOW) == [Decimal(0)]
    assert book.rate("local-large", reported, NOW) == [Decimal("0.008")]
    assert book.rate("Local-Large-20260101", reported, NOW) == [Decimal("0.008")]
    assert book.rate("local-large", {"input_tokens": 1_001}, NOW) == [Decimal("0.016016")]


BAD = {
    "": "holds [[price]] tables",
    "x = 1": "holds [[price]] tables",
    "[[price]]\ninput = 1": "'model' must be a name",
    "[[price]]\nmodel = 'm'\ninput = 1": "'output' is missing",
    "[[price]]\nmodel = 'm'\ninput = 1\noutput = 'x'": "'output' must be a price in USD, not 'x'",
    "[[price]]\nmodel = 'm'\ninput = -1\noutput = 1": "'input' must be a price in USD",
    "[[price]]\nmodel = 'm'\ninput = true\noutput = 1": "'input' must be a price in USD",
    "[[price]]\nmodel = 'm'\ninput = nan\noutput = 1": "'input' must be a price in USD",
    "[[price]]\nmodel = 'm'\ninput = 0.00001\noutput = 1": "has more than 4 decimals",
    "[[price]]\nmodel = 'm'\ninput = 1\noutput = 1\nsince = 'soon'": "'since' must be a day",
    "[[price]]\nmodel = 'm'\ninput = 1\noutput = 1\nimput = 1": "'imput' is not known",
    "[[price]]\nmodel = 'm'\ninput = 1\noutput = 1\n[[price.above]]\ninput = 1": "needs 'prompt'",
    "[[price]]\nmodel = 'm'\ninput = 1.001\noutput = 1": "has more than 4 decimals: ",
    "[[price]": "cannot be read",
    f"price = {'[' * 3000}{']' * 3000}": "cannot be read",
    f"price = {'1' * 5000}": "cannot be read",
    "[[price]]\nmodel = 'm'\ninput = 1\noutput = 1\nabove = 5": "needs 'prompt'",
    "[[price]]\nmodel = 'm'\ninput = [0, [1, 2], 3]\noutput = 1": "'input' must be a price",
}


@pytest.mark.parametrize(("text", "sentence"), BAD.items(), ids=lambda text: text[:60])
def test_a_wrong_book_is_refused_with_the_reason(tmp_path, text, sentence):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        read_book(tmp_path / "own.toml")
    assert sentence in str(refused.value) and "own.toml" in str(refused.value)


def test_a_missing_book_is_refused():
    with pytest.raises(ConfigError, match="cannot be read"):
        PriceBook.of("nowhere.toml")


def test_cache_savings_are_reads_at_full_price_less_extra_costs():
    part = UsagePart("message", "claude-sonnet-4-6", write_5m_tokens=1000, read_tokens=10_000)
    # 10,000 x (3 - 0.3) = 27,000 saved; 1,000 x (3.75 - 3) = 750 paid for it
    assert usd(PriceBook().savings(part, NOW)) == Decimal("0.02625")
    unread = part._replace(read_tokens=0, write_5m_tokens=0, write_1h_tokens=1000)
    assert usd(PriceBook().savings(unread, NOW)) == Decimal("-0.003")
    dearer, cheaper = part._replace(geo="us"), part._replace(service_tier="batch")
    assert usd(PriceBook().savings(dearer, NOW)) == Decimal("0.02625") * Decimal("1.1")
    assert usd(PriceBook().savings(cheaper, NOW)) == Decimal("0.02625") / 2
    assert PriceBook().savings(part._replace(speed="fast"), NOW) == 0  # nobody knows
