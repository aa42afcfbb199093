"""The vocabulary: stored and read back, lifted from older versions, ordered."""

import decimal
import typing
from functools import cache

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnlog.errors import UnknownEvent
from turnlog.events import grammar
from turnlog.events import kinds as k
from turnlog.events.chunks import as_one
from turnlog.events.content import TokenUsage, citations_of, spans_of, usage_of
from turnlog.events.handovers import is_reserved
from turnlog.events.rows import codec
from turnlog.testing import samples as s

WHOLE = st.integers(-(2**53), 2**53)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LEAVES = st.none() | st.booleans() | WHOLE | WORDS
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner), max_leaves=10
)
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
    list[int]: st.lists(WHOLE, max_size=3),
    list[decimal.Decimal | None]: st.lists(st.none() | st.decimals(0, 9, places=6), max_size=3),
    list[dict[str, str]]: st.lists(st.dictionaries(WORDS, WORDS, max_size=2), max_size=3),
    list[dict[str, typing.Any]]: st.lists(BLOCKS, max_size=3),
    TokenUsage: st.builds(TokenUsage, input_tokens=WHOLE, thinking_tokens=st.none() | WHOLE),
}


def values(hint):
    if hint in HINTS:
        return HINTS[hint]
    return st.one_of(*map(values, typing.get_args(hint)))


@cache
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
    leaves = [*k.Event.__subclasses__(), *k.Internal.__subclasses__()]
    assert len(k.KINDS) == len(leaves) - 1  # without Internal itself


def test_only_kept_events_say_that_they_are_persisted():
    assert all(kind.kept for kind in k.KINDS.values() if kind.shown_as == "persisted")
    assert not any(kind.kept for kind in grammar.OUTSIDE_A_TURN if not kind.internal)


def kinds_in(table):
    return {kind for following in table.values() for kind in following}


def test_every_kind_has_a_place_in_a_turn_or_is_outside():
    places = [kinds_in(grammar.TURN), kinds_in(grammar.MESSAGE), grammar.OUTSIDE_A_TURN]
    assert set().union(*places) == set(k.KINDS.values())
    assert sum(map(len, places)) == len(k.KINDS)  # none has two places


def test_what_belongs_to_a_message_says_to_which():
    named = {kind for kind in k.KINDS.values() if "messageId" in kind.__struct_encode_fields__}
    assert named > grammar.OF_A_MESSAGE
    assert named - grammar.OF_A_MESSAGE - grammar.OUTSIDE_A_TURN == {k.UserMessageSent}


@pytest.mark.parametrize(
    ("table", "first", "last"),
    [
        (grammar.TURN, {grammar.State.START, grammar.State.ANSWERED}, grammar.State.OVER),
        (grammar.MESSAGE, {grammar.Answer.BEGUN}, grammar.Answer.KEPT),
    ],
)
def test_every_state_can_be_reached_and_left(table, first, last):
    """A turn becomes ANSWERED by an answer that is kept, which is in the other table."""
    reached = {state for following in table.values() for state in following.values()}
    assert reached | first == set(type(last)) == set(table)
    assert [state for state, following in table.items() if not following] == [last]


def of(*kinds, message="m"):
    """These events, all of one message where they belong to one."""
    return [(kind, message if kind in grammar.OF_A_MESSAGE else "") for kind in kinds]


def woven(*messages):
    """One event of each message after the other, as several agents write at the same time."""
    return [event for together in zip(*messages, strict=True) for event in together]


ASKED = (k.UserMessageSent, "")
THINKS = (k.ThinkingStart, k.ThinkingChunk, k.ThinkingComplete)
WRITES = (*THINKS, k.MessageChunk, k.CitationsFound, k.Thinking, k.Message)
LEGAL = {
    "a simple answer": of(k.UserMessageSent, k.MessageChunk, k.Message, k.Complete),
    "a thought": of(k.UserMessageSent, *THINKS, k.MessageChunk, k.Thinking, k.Message, k.Complete),
    "a tool": [*of(k.UserMessageSent, k.Message, k.ToolUse, k.ToolResult),
               *of(k.Message, k.Complete, message="n")],
    "an approval": [*of(k.UserMessageSent, k.Message, k.ToolUse, k.ApprovalRequested,
                        k.ApprovalResolved, k.ToolResult), *of(k.Message, message="n")],
    "an error": of(k.UserMessageSent, k.Error),
    "an error while one is written": of(k.UserMessageSent, k.MessageChunk, k.Error),
    "an interrupted answer": of(k.UserMessageSent, k.MessageChunk, k.Message, k.Error),
    "an interrupted thought": of(k.UserMessageSent, k.ThinkingStart, k.Thinking, k.Message),
    "two at once": [ASKED, *woven(of(*WRITES), of(*WRITES, message="n")), (k.Complete, "")],
    "one writes while another's tool runs": [
        *of(k.UserMessageSent, k.Message, k.ToolUse), *of(k.MessageChunk, message="n"),
        *of(k.ToolResult), *of(k.MessageChunk, k.Message, message="n"), *of(k.Complete)],
    "a hand-over": [*of(k.UserMessageSent, k.AgentChanged, k.MessageChunk, k.Message,
                        k.AgentChanged), *of(k.Message, k.Complete, message="n")],
}  # fmt: skip
ILLEGAL = {
    "'message' cannot happen while START": of(k.Message),
    "'message_chunk' cannot happen while START": of(k.MessageChunk),
    "'user_message_sent' cannot happen while ASKED": of(k.UserMessageSent, k.UserMessageSent),
    "'tool_use' cannot happen while ASKED": of(k.UserMessageSent, k.ToolUse),
    "'tool_result' cannot happen while ANSWERED": of(k.UserMessageSent, k.Message, k.ToolResult),
    "'message' cannot happen while OVER": of(k.UserMessageSent, k.Error, k.Message),
    "'complete' cannot happen while message 'm' is not kept": of(
        k.UserMessageSent, k.MessageChunk, k.Complete
    ),
    "'complete' cannot happen while message 'n' is not kept": [
        *of(k.UserMessageSent, k.Message), *of(k.MessageChunk, message="n"), *of(k.Complete)],
    "'message' of message 'm' cannot happen while KEPT": of(
        k.UserMessageSent, k.Message, k.Message
    ),
    "'message_chunk' of message 'm' cannot happen while KEPT": of(
        k.UserMessageSent, k.Message, k.MessageChunk
    ),
    "'message_chunk' of message 'm' cannot happen while THINKING": of(
        k.UserMessageSent, k.ThinkingStart, k.MessageChunk
    ),
    "'thinking_chunk' of message 'n' cannot happen while BEGUN": [
        *of(k.UserMessageSent, k.ThinkingStart), *of(k.ThinkingChunk, message="n")],
    "'message_chunk' of message 'm' cannot happen while KEEPING": of(
        k.UserMessageSent, k.MessageChunk, k.Thinking, k.MessageChunk
    ),
}  # fmt: skip


@pytest.mark.parametrize("turn", LEGAL.values(), ids=LEGAL)
def test_the_order_is_legal(turn):
    assert grammar.broken_rule(turn) is None


@pytest.mark.parametrize(("rule", "turn"), ILLEGAL.items())
def test_the_order_is_broken_and_the_rule_is_named(rule, turn):
    assert grammar.broken_rule(turn) == rule


def test_an_event_is_a_step_of_its_message():
    said = s.said("Hi.", id="msg_1")
    assert grammar.step(said) == (k.Message, "msg_1")
    assert grammar.step(s.used("a")) == (k.ToolUse, "")


def test_tokens_add_up_and_unknown_thinking_stays_unknown():
    one = usage_of({"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": None})
    two = usage_of({"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 3}})
    assert (one + one).thinking_tokens is None
    assert (one + two).thinking_tokens == 3
    assert (one + two).total_tokens == 8


CITED = [
    {"type": "text", "text": "One. "},
    {"type": "tool_use", "id": "a", "name": "look", "input": {}},
    {"type": "text", "text": ""},
    {"type": "text", "text": "Two 🦆.", "citations": [{"c": 1}, {"c": 2}]},
    {"type": "text", "text": " Three.", "citations": None},
]


def test_spans_are_where_the_text_of_a_block_stands():
    assert spans_of(CITED) == [(0, 0, 5), (2, 5, 5), (3, 5, 11), (4, 11, 18)]
    assert "".join(block.get("text", "") for block in CITED)[5:11] == "Two 🦆."


def test_citations_know_their_block_and_the_words_that_they_are_for():
    place = {"blockIndex": 3, "start": 5, "end": 11}
    assert citations_of(CITED, spans_of(CITED)) == [{**place, "c": 1}, {**place, "c": 2}]


def test_blocks_of_an_answer_that_was_cut_off_keep_their_numbers():
    """Only what was shown of it is kept: the blocks between are missing."""
    texts = [CITED[0], CITED[3]]
    assert spans_of(texts, [2, 7]) == [(2, 0, 5), (7, 5, 11)]
    with pytest.raises(ValueError, match="longer"):
        spans_of(texts, [2])


CITES = st.just(msgspec.UNSET) | st.lists(st.builds(dict, n=WHOLE), min_size=1, max_size=3)
PIECE = st.builds(
    k.MessageChunk,
    message_id=st.sampled_from("mn"),
    content=WORDS,
    block_index=st.integers(0, 2),
    citations=CITES,
)


def where(chunks):
    """Each citation with its place and with the text that it stands before."""
    after = [c.content + "".join(d.content for d in chunks[n + 1 :]) for n, c in enumerate(chunks)]
    return [
        (chunk.message_id, chunk.block_index, citation, rest)
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
    for name in "mn":
        of_message = [[c.content for c in cs if c.message_id == name] for cs in (joined, chunks)]
        assert "".join(of_message[0]) == "".join(of_message[1])


def test_pieces_of_two_answers_are_never_joined():
    one, other = (k.MessageChunk(message_id=m, content=m, block_index=0) for m in "mn")
    assert as_one(one, other) is None
    assert as_one(one, one).content == "mm"


def test_names_of_hand_overs_are_reserved_and_others_are_not():
    assert is_reserved("transfer_to_erp") and is_reserved("transfer_back_to_supervisor")
    assert not is_reserved("list_transfers") and not is_reserved("route_to_truck")


def test_a_type_that_was_renamed_is_read_under_its_old_name():
    refused = k.DecisionRefused(approval_id="a", tried_by="bob", why="Too late.")
    body = codec.encode(refused)
    named = b'{"type":"approval_refused",' + body[1:]  # as it was stored then
    assert codec.decode("approval_refused", 1, body) == refused
    assert codec.decode("approval_refused", 1, named) == refused


def test_what_is_as_ever_is_not_stored():
    """A default is a part of the stored form: whoever changes one raises the kind's version."""
    question = k.UserMessageSent(message_id="m", content="Hi.", request_id=None)
    assert codec.encode(question) == b'{"messageId":"m","content":"Hi.","requestId":null}'
    answer = codec.encode(s.said("Hi."))
    assert b'"tokenUsage":{"inputTokens":10,"outputTokens":5,"totalTokens":15}' in answer
    defaults = {
        f"{name}.{field.name}": field.default
        for name, kind in k.KINDS.items()
        for field in msgspec.structs.fields(kind)
        if kind.kept and field.default not in (msgspec.NODEFAULT, msgspec.UNSET, None, "", 0, False)
    }
    assert defaults == {"message.role": "assistant", "approval_requested.may_decide": "asker"}
    factories = [
        field.default_factory
        for kind in k.KINDS.values()
        if kind.kept
        for field in msgspec.structs.fields(kind)
    ]
    assert {*factories} == {msgspec.NODEFAULT, list, dict}
