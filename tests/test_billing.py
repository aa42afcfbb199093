"""Sums over the log: every model call counts, internal ones too."""

from turnlog.events.content import TokenUsage, usage_of
from turnlog.projections.billing import by_model, total
from turnlog.testing import samples as s


def test_the_total_is_what_the_model_reported_for_each_call():
    events = [s.asked(), s.said("One."), s.result("t"), s.said("Two.")]
    assert total(events) == usage_of({"input_tokens": 20, "output_tokens": 10})
    assert total([]) == TokenUsage()


def test_each_model_has_its_own_sum():
    sums = by_model([s.said("One."), s.said("Two.")])
    assert {model: used.total_tokens for model, used in sums.items()} == {"claude-sonnet-5-5": 30}


def test_cached_tokens_are_not_input_tokens():
    reported = {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": None}
    used = usage_of(reported | {"output_tokens_details": {"thinking_tokens": 2}})
    assert (used.input_tokens, used.cache_read_tokens, used.total_tokens) == (3, 100, 103)
    assert (used + TokenUsage()).thinking_tokens == 2
