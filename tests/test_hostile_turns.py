"""A whole turn with a model that breaks the rules: it ends, and what is kept is proven."""

import pytest
from hostile_model import BEGIN, end, frame, head, hostile, text

from turnlog import Agent, Settings, create_app
from turnlog.events import kinds as k
from turnlog.projections.history.fold import LEFT_OUT, history
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s
from turnlog.testing.apps import kept_events


async def test_an_answer_that_says_tool_use_and_asks_for_none_ends_the_turn():
    answer = head() + BEGIN + text("Hello.") + end("tool_use")
    async with hostile(answer) as (url, _):
        settings = Settings(api_key="k", base_url=url)
        app = create_app([Agent("a")], store=MemoryStore(), settings=settings)
        async with app:
            result = await app.run_turn("Hi")
            assert (result.success, result.text) == (True, "Hello.")
            kept = await kept_events(app.store, result.session_id)
    assert kept[-1].stop_reason == "end_turn"
    assert kept[-1].details["stop_reason"] == "tool_use"


async def test_half_a_character_costs_a_replacement_character_and_not_the_answer():
    half = text("Good HERE day").replace(b"HERE", rb"\ud83d")
    async with hostile(head() + BEGIN + half + end()) as (url, _):
        settings = Settings(api_key="k", base_url=url)
        app = create_app([Agent("a")], store=MemoryStore(), settings=settings)
        async with app:
            result = await app.run_turn("Hi")
            assert result.text == "Good \ufffd day"
            await kept_events(app.store, result.session_id)


@pytest.mark.parametrize("nonsense", [5, False, 10**30, 1e300, ["a"], {"a": 1}, None, "a\0b"])
async def test_a_citation_with_nonsense_in_it_costs_no_answer_and_looks_like_no_forgery(
    tmp_path, nonsense
):
    fields = ("type", "cited_text", "blockIndex", "start", "end", "document_title", "url")
    cited = {"type": "citations_delta", "citation": dict.fromkeys(fields, nonsense)}
    body = BEGIN + frame("content_block_delta", index=0, delta=cited) + text("Hello.") + end()
    async with hostile(head() + body) as (url, _):
        settings = Settings(api_key="k", base_url=url)
        app = create_app([Agent("a")], store=f"sqlite:{tmp_path}", settings=settings)
        async with app:
            result = await app.run_turn("Hi")
            assert (result.success, result.text) == (True, "Hello.")
            _, message = await kept_events(app.store, result.session_id)
            (row,) = await app.store.citations_of_message("local", message.message_id)
    (chunk,) = [e.event for e in result.events if isinstance(e.event, k.MessageChunk)]
    ours = {"blockIndex": 0, "start": 0, "end": len("Hello.")}
    told = dict.fromkeys(fields, nonsense)
    assert chunk.citations == [told | {"blockIndex": 0}]
    assert message.citations == [told | ours]
    assert row["block_index"] == 0


def test_of_a_refused_turn_what_was_done_is_told():
    """Or the model might create the same customer again."""
    asks = s.said("I look.", s.call("a"), stop="tool_use")
    refused = [s.asked("Bad."), asks, s.used("a"), s.result("a"), s.said("No", stop="refusal")]
    result = {"type": "tool_result", "tool_use_id": "a", "content": "seen"}
    messages = history(s.log_of([s.asked("One."), s.said("Two.")], refused, [s.asked("Now?")]))
    assert [(m["role"], m["content"]) for m in messages[2:]] == [
        ("user", [s.text(LEFT_OUT)]),
        ("assistant", [s.text("I look."), s.call("a")]),
        ("user", [result, s.text("Now?")]),
    ]
