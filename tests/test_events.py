"""The vocabulary: stored and read back, lifted from older versions, ordered."""

import decimal
import typing

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnlog.errors import UnknownEvent
from turnlog.events import codec, grammar
from turnlog.events import kinds as k
from turnlog.events.chunks import as_one
from turnlog.events.content import TokenUsage, citations_of, usage_of
from turnlog.events.internal import is_internal_tool

WHOLE = st.integers(-(2**53), 2**53)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LEAVES = st.none() | st.booleans() | WHOLE | WORDS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner))
BLOCKS = st.builds(lambda said: {"type": "text", "text": said}, WORDS)
HINTS = {
    str: WORDS,
    int: WHOLE,
    bool: st.booleans(),
    typing.Any: JSON,
    type(None): st.none(),
    msgspec.UnsetType: st.just(msgspec.UNSET),
    decimal.Decimal: st.decimals(0, 100, places=6),
    dict[str, typing.Any]: st.dictionaries(WORDS, JSON, max_size=3),
    list[str]: st.lists(WORDS, max_size=3),
    list[decimal.Decimal | None]: st.lists(st.none() | st.decimals(0, 9, places=6), max_size=3),
    list[dict[str, str]]: st.lists(st.dictionaries(WORDS, WORDS, max_size=2), max_size=3),
    list[dict[str, typing.Any]]: st.lists(BLOCKS, max_size=3),
    TokenUsage: st.builds(TokenUsage, input_tokens=WHOLE, thinking_tokens=st.none() | WHOLE),
}


def values(hint):
    if hint in HINTS:
        return HINTS[hint]
    return st.one_of(*map(values, typing.get_args(hint)))


def events_of(kind):
    fields = msgspec.structs.fields(kind)
    return st.builds(kind, **{field.name: values(field.type) for field in fields})


@pytest.mark.parametrize("kind", k.KINDS.values(), ids=k.KINDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_what_is_stored_reads_back_the_same(kind, data):
    event = data.draw(events_of(kind))
    assert codec.decode(event.type, kind.version, codec.encode(event)) == event


def test_an_older_version_is_lifted_step_by_step(monkeypatch):
    monkeypatch.setattr(k.Error, "version", 3)
    monkeypatch.setitem(codec.UPGRADES, ("error", 1), lambda old: old | {"code": old.pop("kind")})
    monkeypatch.setitem(codec.UPGRADES, ("error", 2), lambda old: old | {"retryable": False})
    lifted = codec.decode("error", 1, b'{"type":"error","error":"no","kind":"lost"}')
    assert lifted == k.Error(error="no", code="lost", retryable=False)


@pytest.mark.parametrize(("type_", "version"), [("error", 2), ("telepathy", 1), ("error", 0)])
def test_an_event_that_this_version_cannot_read_is_unknown(type_, version):
    with pytest.raises(UnknownEvent, match=type_):
        codec.decode(type_, version, b"{}")


def test_no_two_kinds_have_one_name():
    assert len(k.KINDS) == len(k.Event.__subclasses__())


def test_only_kept_events_say_that_they_are_persisted():
    assert all(kind.kept for kind in k.KINDS.values() if kind.shown_as == "persisted")
    assert not any(kind.kept for kind in grammar.OUTSIDE_A_TURN if not kind.internal)


def test_every_kind_has_a_place_in_a_turn_or_is_outside():
    inside = {kind for following in grammar.NEXT.values() for kind in following}
    assert inside | grammar.OUTSIDE_A_TURN == set(k.KINDS.values())
    assert not inside & grammar.OUTSIDE_A_TURN


def test_every_state_can_be_reached_and_left():
    reached = {state for following in grammar.NEXT.values() for state in following.values()}
    assert reached | {grammar.State.START} == set(grammar.State) == set(grammar.NEXT)
    assert [state for state, following in grammar.NEXT.items() if not following] == [
        grammar.State.OVER
    ]


LEGAL = {
    "a simple answer": [k.UserMessageSent, k.MessageChunk, k.Message, k.Complete],
    "a thought": [k.UserMessageSent, k.ThinkingStart, k.ThinkingChunk, k.ThinkingComplete,
                  k.MessageChunk, k.Thinking, k.Message, k.Complete],
    "a tool": [k.UserMessageSent, k.Message, k.ToolUse, k.ToolResult, k.Message, k.Complete],
    "an approval": [k.UserMessageSent, k.Message, k.ToolUse, k.ApprovalRequested,
                    k.ApprovalResolved, k.ToolResult, k.Message],
    "an error": [k.UserMessageSent, k.Error],
    "an interrupted answer": [k.UserMessageSent, k.MessageChunk, k.Message, k.Error],
}  # fmt: skip
ILLEGAL = {
    "'message' cannot happen while START": [k.Message],
    "'user_message_sent' cannot happen while ASKED": [k.UserMessageSent, k.UserMessageSent],
    "'tool_use' cannot happen while ASKED": [k.UserMessageSent, k.ToolUse],
    "'tool_result' cannot happen while ANSWERED": [k.UserMessageSent, k.Message, k.ToolResult],
    "'message' cannot happen while OVER": [k.UserMessageSent, k.Error, k.Message],
    "'complete' cannot happen while WRITING": [k.UserMessageSent, k.MessageChunk, k.Complete],
}


@pytest.mark.parametrize("turn", LEGAL.values(), ids=LEGAL)
def test_the_order_is_legal(turn):
    assert grammar.broken_rule(turn) is None


@pytest.mark.parametrize(("rule", "turn"), ILLEGAL.items())
def test_the_order_is_broken_and_the_rule_is_named(rule, turn):
    assert grammar.broken_rule(turn) == rule


def test_tokens_add_up_and_unknown_thinking_stays_unknown():
    one = usage_of({"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": None})
    two = usage_of({"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 3}})
    assert (one + one).thinking_tokens is None
    assert (one + two).thinking_tokens == 3
    assert (one + two).total_tokens == 8


def test_citations_know_their_block():
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "citations": [{"c": 1}]}]
    assert citations_of(blocks) == [{"blockIndex": 1, "c": 1}]


CITES = st.just(msgspec.UNSET) | st.lists(st.builds(dict, n=WHOLE), min_size=1, max_size=3)
PIECE = st.builds(k.MessageChunk, content=WORDS, block_index=st.integers(0, 2), citations=CITES)


def where(chunks):
    """Each citation with its block and with the text that it stands before."""
    after = [c.content + "".join(d.content for d in chunks[n + 1 :]) for n, c in enumerate(chunks)]
    return [
        (chunk.block_index, citation, rest)
        for chunk, rest in zip(chunks, after, strict=True)
        for citation in (chunk.citations or ())
    ]


@given(st.lists(PIECE, min_size=1))
def test_joining_neither_detaches_nor_reorders_citations(chunks):
    joined = chunks[:1]
    for chunk in chunks[1:]:
        one = as_one(joined[-1], chunk)
        joined[-1:] = [joined[-1], chunk] if one is None else [one]
    assert where(joined) == where(chunks)
    assert "".join(c.content for c in joined) == "".join(c.content for c in chunks)


def test_hand_offs_are_internal_and_other_tools_are_not():
    assert is_internal_tool("transfer_to_erp")
    assert not is_internal_tool("list_transfers")
