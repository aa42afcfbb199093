"""A provider that reports nonsense costs nobody an answer: kept as reported, clamped in tables."""

from decimal import Decimal

import pytest

from turnlog import Agent, Settings, create_app
from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.events.usage import MOST_SEARCHES, MOST_TOKENS, parts_of, searches_of
from turnlog.ports import Spent
from turnlog.projections.billing.bill import whole
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, Usage

# what is reported -> what is counted
COUNTS = {
    "1e14": (10**14, MOST_TOKENS),
    "more than a column holds": (2**63, MOST_TOKENS),
    "more than 64 bits": (10**30, MOST_TOKENS),
    "1e30, a float": (1e30, MOST_TOKENS),
    "negative": (-5, 0),
    "a float": (12.0, 12),
    "half a token": (12.5, 0),
    "a string": ("many", 0),
    "a number in a string": ("12", 0),
    "a truth": (True, 0),
    "a list": ([1], 0),
}
STORES = {"memory": lambda folder: "memory:", "sqlite": lambda folder: f"sqlite:{folder}"}


async def answered(store_url, *replies):
    """A turn for each reply, as the log has them; the store proves whole, and can be summed."""
    async with SimulatedClaude(*replies, pace=0).serve() as url:
        settings = Settings(api_key="k", base_url=url)
        async with (app := create_app([Agent("a")], settings=settings, store=store_url)):
            session = await app.create_session("local")
            for _ in replies:
                result = await app.run_turn("Go", session_id=session.id)
                assert (result.success, result.events[-1].event.type) == (True, "complete")
            evidence = await app.store.evidence(session.id)
            assert prove(evidence).problems == []
            spent, charges = await app.store.spent("local"), await app.store.charges()
    messages = [event for row in evidence.log if isinstance(event := _event(row), k.Message)]
    return messages, spent, charges, evidence.session


def _event(row):
    return stamped(row).event


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("reported", "counted"), COUNTS.values(), ids=list(COUNTS))
async def test_an_answer_is_kept_whatever_its_tokens_are_said_to_be(
    store, reported, counted, migrated
):
    usage = Usage(input_tokens=reported, output_tokens=reported, thinking_tokens=reported)
    (message,), spent, (charge,), _ = await answered(
        STORES[store](migrated), Reply("Here it is.", usage=usage)
    )
    assert message.content == "Here it is."
    assert message.reported["input_tokens"] == message.reported["output_tokens"] == reported
    assert (message.token_usage.input_tokens, charge.output_tokens) == (counted, counted)
    assert spent == Spent(2 * counted, charge.cost_picousd)


@pytest.mark.parametrize("store", STORES)
async def test_absurd_counts_add_up_without_an_overflow(store, migrated):
    usage = Usage(
        input_tokens=10**18, output_tokens=10**18, cache_write_1h=10**18, web_searches=10**18
    )
    replies = [Reply("Yes.", usage=usage) for _ in range(12)]
    messages, spent, charges, session = await answered(STORES[store](migrated), *replies)
    assert len(messages) == 12
    assert spent.picousd == sum(charge.cost_picousd for charge in charges)
    assert spent.tokens == 12 * 3 * MOST_TOKENS
    assert whole(charges).cost_usd is not None
    assert session.searches == 12 * MOST_SEARCHES


async def test_a_cost_that_no_table_can_hold_is_unknown(tmp_path):
    """A slip in one's own price book loses no answer either."""
    book = tmp_path / "prices.toml"
    book.write_text('[[price]]\nmodel = "claude-sonnet-5-5"\ninput = 99999\noutput = 99999\n')
    usage = Usage(input_tokens=10**14, output_tokens=10**14)
    async with SimulatedClaude(Reply("Yes.", usage=usage), pace=0).serve() as url:
        settings = Settings(api_key="k", base_url=url, prices=str(book))
        store = f"sqlite:{tmp_path / 'data'}"
        async with (app := create_app([Agent("a")], settings=settings, store=store)):
            result = await app.run_turn("Go")
            (charge,) = await app.store.charges()
            proof = prove(await app.store.evidence(result.session_id))
    assert (result.success, charge.cost_picousd, proof.problems) == (True, None, [])
    assert result.cost_usd > Decimal(10**7)


def test_what_is_nonsense_counts_as_nothing():
    for nonsense in ("x", None, [], {}, -1, True):
        reported = {"server_tool_use": {"web_search_requests": nonsense}}
        assert searches_of(reported) == parts_of("m", reported)[0].web_searches == 0
    assert searches_of({"server_tool_use": "x"}) == 0
    assert (
        parts_of("m", {"output_tokens_details": {"thinking_tokens": "x"}})[0]
        == (parts_of("m", {})[0])
    )
