"""Which model refuses what, by the names that the API gives its models."""

import pytest

from turnlog.simulator.models import refuses

# fmt: off
MODELS = [
    ("claude-opus-4-5-20251101", ""),
    ("claude-sonnet-4-20250514", ""),
    ("claude-3-7-sonnet-20250219", ""),
    ("claude-opus-4-6",          "prefill"),
    ("claude-opus-4-7",          "prefill sampling enabled"),
    ("claude-opus-5",            "prefill sampling enabled"),
    ("claude-opus-5-5",          "prefill sampling enabled disabled forced"),
    ("claude-sonnet-4-6",        "prefill"),
    ("claude-sonnet-5",          "prefill sampling enabled"),
    ("claude-sonnet-5-5",        "prefill sampling enabled disabled forced"),
    ("claude-haiku-5-5",         "prefill sampling enabled"),
    ("claude-fable-5-1",         "prefill sampling enabled disabled forced"),
    ("claude-fable-5",           "prefill sampling enabled disabled"),
    ("claude-mythos-5",          "prefill sampling enabled disabled"),
]
# fmt: on


@pytest.mark.parametrize(("model", "refused"), MODELS)
def test_each_model_refuses_what_its_family_does(model, refused):
    everything = ["prefill", "sampling", "enabled", "disabled", "forced"]
    assert " ".join(what for what in everything if refuses(model, what)) == refused


def test_adaptive_thinking_is_refused_by_the_models_before_it():
    assert refuses("claude-haiku-4-5-20251001", "adaptive")
    assert not refuses("claude-opus-4-6", "adaptive")
    assert not refuses("my-own-model", "adaptive")


def test_only_some_models_know_between_tools():
    known = [model for model, _ in MODELS if not refuses(model, "between_tools")]
    assert known == ["claude-3-7-sonnet-20250219", "claude-sonnet-5-5"]  # the first is not parsed
