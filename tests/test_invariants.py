"""Whatever is asked, said, cut or broken: the invariants hold, over random scripts."""

import asyncio
import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnlog.simulator import (
    Break,
    Cut,
    RawBlock,
    RedactedThinking,
    Reply,
    Text,
    Thinking,
    ToolCall,
    failure,
)
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import flows
from turnlog.testing.pages import Page
from turnlog.testing.script import ToolStep, UserStep

pytestmark = pytest.mark.slow

ids = itertools.count()
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
questions = words.filter(str.strip)
upload = {"type": "container_upload", "file_id": "file_01"}
speech = st.one_of(
    words.filter(bool).map(Text),
    words.map(Thinking),
    st.just(RedactedThinking("EmwK")),
    st.just(RawBlock(upload)),
)
calls = st.builds(
    lambda name: ToolCall(name, {}, f"toolu_{next(ids)}"),
    st.sampled_from(["alpha", "beta", "missing"]),
)
steps = st.one_of(
    st.builds(ToolStep, st.just("returns"), st.one_of(words, st.integers(), st.none())),
    st.builds(ToolStep, st.sampled_from(["fails", "crashes"]), words),
)
endings = st.one_of(
    st.builds(Cut, st.integers(0, 12), st.booleans()),
    st.builds(Break, st.integers(0, 12)),
)
chunks = st.integers(1, 30)
last_words = st.one_of(
    st.builds(
        lambda blocks, reason, chunk: Reply(*blocks, stop_reason=reason, chunk=chunk),
        st.lists(speech, max_size=4),
        st.sampled_from(["end_turn", "max_tokens", "refusal", "stop_sequence"]),
        chunks,
    ),
    st.builds(
        lambda blocks, ending: Reply(*blocks, ending=ending),
        st.lists(st.one_of(speech, calls), max_size=4),
        endings,
    ),
    st.sampled_from(["overloaded_error", "api_error", "authentication_error"]).map(
        lambda kind: failure(kind, "no", 60.0)
    ),
)
tool_rounds = st.lists(
    st.builds(
        lambda blocks, asked, chunk: Reply(*blocks, *asked, chunk=chunk),
        st.lists(speech, max_size=2),
        st.lists(calls, min_size=1, max_size=3),
        chunks,
    ),
    max_size=3,
)


@st.composite
def turns(draw: st.DrawFn) -> UserStep:
    turn = UserStep(draw(questions), draw(st.booleans()))
    turn.entries = [*draw(tool_rounds), draw(last_words)]
    for reply in turn.entries:
        for block in getattr(reply, "blocks", ()):
            if isinstance(block, ToolCall):
                turn.calls[block.id], turn.callers[block.id] = block, ""
                known = block.name != "missing"
                turn.tools[block.id] = draw(steps) if known else ToolStep("is unknown")
    return turn


def hold(script, store):
    page = Page(Path("random"), script, set(), [])
    assert asyncio.run(flows.perform(page, store, flows.by_library)).broken == []


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(turns(), min_size=1, max_size=3))
def test_the_invariants_hold_in_memory(script):
    hold(script, MemoryStore())


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(turns(), min_size=1, max_size=3))
def test_the_invariants_hold_on_disk(script):
    with tempfile.TemporaryDirectory() as folder:
        hold(script, SqliteStore(folder))
