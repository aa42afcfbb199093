"""A history that has grown is checked at its end, and the answer is that of a full check."""

import copy
from itertools import product

import pytest
from histories import BROKEN, GOOD, claude, document, found, image, search, user
from hypothesis import given
from hypothesis import strategies as st

from turnlog.projections.history import clean, repair
from turnlog.projections.history.clean import (
    ENDS_WITHOUT_SPACE,
    NOT_OURS_TO_JUDGE,
    Checked,
    CleanHistory,
    last_turn,
    mended,
)
from turnlog.projections.history.lint import lint
from turnlog.projections.history.plain import Plain, plain
from turnlog.projections.history.request import Request
from turnlog.testing.samples import call, text


def result(*ids, **more):
    return user(*[answer(id, **more) for id in ids])


def answer(id, content="Seen.", **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def in_full(messages, open_calls=frozenset(), without=frozenset()):
    """What every rule says about all of it."""
    full = repair.repair(Request({"messages": messages}, open_calls), without)
    return Checked(full.body["messages"], full.found)


THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
EARLIER = [
    user("Hello."),
    claude(THOUGHT, "Hello."),
    user("Look."),
    claude(call("toolu_1")),
    result("toolu_1"),
    claude("Seen."),
    user("Again."),
]


def is_ours(messages):
    """Whether it is of the shape that is made from a log, whatever its blocks are."""
    shapes = [isinstance(m, dict) and isinstance(m.get("content"), list) for m in messages]
    return all(shapes) and all(m.get("role") in ("user", "assistant") for m in messages)


BODIES = {name: body for name, (_, _, body) in BROKEN.items()} | dict(GOOD)
TAILS = {name: body["messages"] for name, body in BODIES.items() if is_ours(body["messages"])}


def known(messages):
    history = CleanHistory()
    assert history.check([*messages], frozenset(), frozenset()) == in_full(messages)
    return history


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_whatever_comes_to_a_clean_history_the_answer_is_that_of_a_full_check(tail):
    # After an answer, as its continuation, and in place of the last question.
    for head in (EARLIER, [*EARLIER, claude("Yes.")], EARLIER[:-1]):
        messages = [*head, *copy.deepcopy(tail)]
        assert mended(messages, fully=True, clean=known(EARLIER)) == in_full(messages)


REDACTED = {"type": "redacted_thinking", "data": "x"}
FAR = call("toolu_3") | {"caller": {"type": "direct"}}
QUOTED = text("So.") | {"citations": None}
TOOLS = [
    user("Look twice.", "And think."),
    claude(THOUGHT, REDACTED, "I look.", call("toolu_2"), FAR),
    user(answer("toolu_3", "It broke.", is_error=True), answer("toolu_2", ""), "Be quick."),
    claude(call("toolu_4")),
    result("toolu_4"),
    claude(THOUGHT, QUOTED),
]


@pytest.mark.parametrize("messages", [TOOLS, *TAILS.values()])
def test_what_is_plain_breaks_no_rule(messages):
    """Whatever one message of it is exchanged for, or comes in between."""
    for place, other in product(range(len(messages) + 1), [*TOOLS, *EARLIER, None]):
        for taken in (0, 1):
            changed = [*messages[:place], *([other] if other else []), *messages[place + taken :]]
            new = plain(changed)
            if new is not None and not new.ends_in_space:
                assert lint(Request({"messages": changed})) == []


def test_what_is_plain():
    ids = ["toolu_1", "toolu_2", "toolu_3", "toolu_4"]
    assert plain(EARLIER) == Plain(6, ids[:1], ids[:1], False)
    assert plain([*EARLIER[:-1], *TOOLS]) == Plain(6, ids[:1], ids, False)
    assert plain([*EARLIER[:-1], *TOOLS, user("And? ")]) == Plain(12, ids, ids, False)
    assert plain(TOOLS[:3]) == Plain(0, [], ids[1:3], False)
    assert plain([*TOOLS[:3], claude("Yes. ")]) == Plain(0, [], ids[1:3], True)


ODD = {
    "nothing": [],
    "the assistant first": TOOLS[1:],
    "nothing said": [user()],
    "blank": [user(" ")],
    "a mark": [user(text("Hi.") | {"cache_control": {"type": "ephemeral"}})],
    "a field": [user(text("Hi.") | {"id": "x"})],
    "a field of a message": [user("Hi.") | {"id": "x"}],
    "a string": [user("Hi.") | {"content": "Hi."}],
    "no string": [user({"type": "text", "text": 5})],
    "no type": [user({"text": "Hi."})],
    "no known type": [user({"type": ["text"], "text": "Hi."})],
    "no block": [user(5)],
    "a thought of the user": [user(THOUGHT)],
    "an image": [user(image(), "Hi.")],
    "an open call": TOOLS[:2],
    "one result of two": [*TOOLS[:2], result("toolu_2")],
    "a result twice": [*TOOLS[:2], result("toolu_2", "toolu_2")],
    "three results": [*TOOLS[:2], result("toolu_2", "toolu_3", "toolu_3")],
    "another result": [*TOOLS[:2], result("toolu_2", "toolu_4")],
    "a result behind words": [*TOOLS[:4], user("Well?", answer("toolu_4"))],
    "a result of no call": [result("toolu_2")],
    "a result of blocks": [*TOOLS[:4], result("toolu_4", content=[text("Seen.")])],
    "a result that is marked": [*TOOLS[:4], result("toolu_4", cache_control=None)],
    "a call twice": [*TOOLS[:3], claude(call("toolu_2")), result("toolu_2")],
    "a call twice at once": [*TOOLS[:3], claude(call("a"), call("a")), result("a", "a")],
    "an odd id": [*TOOLS[:3], claude(call("a b")), result("a b")],
    "an odd name": [*TOOLS[:3], claude(call("a", "a.b")), result("a")],
    "no input": [*TOOLS[:3], claude(call("a") | {"input": None}), result("a")],
    "a thought last": [*TOOLS[:3], claude("Hm.", THOUGHT), user("And?")],
    "a thought unsigned": [*TOOLS[:3], claude(THOUGHT | {"signature": ""}, "Yes."), user("And?")],
    "a search": [*TOOLS[:3], claude(search(), found(), "Yes."), user("And?")],
}


@pytest.mark.parametrize("messages", ODD.values(), ids=ODD)
def test_what_is_left_to_the_rules(messages):
    assert plain(messages) is None


# any history that grows


IDS = [*(f"toolu_{n}" for n in range(8)), "a b"]
WORDS = ["Yes.", "Yes.", "So. ", "", " "]
ids = st.sampled_from(IDS)
said = st.sampled_from(WORDS).map(text)
calls = st.builds(call, ids, st.sampled_from(["look", "look", "look", "a.b"]))
results = st.builds(answer, ids, st.sampled_from(["Seen.", "", None, [text("Seen.")], [image()]]))
odd = st.sampled_from(
    [THOUGHT, REDACTED, THOUGHT | {"signature": ""}, image(), document(True), document(),
     search(), found(), call("a") | {"input": None}, FAR, QUOTED, text("a") | {"id": "x"}, 5,
     {"type": "video"}, text("a") | {"cache_control": {"type": "ephemeral"}}]
)  # fmt: skip
blocks = st.one_of(said, calls, results, odd)
anything = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant"]),
    st.lists(blocks, max_size=4),
)


@st.composite
def turns(draw):
    """Mostly as they should be; now and then something is missing, doubled or odd."""
    messages, names = [user("Go on.")], draw(st.lists(ids, max_size=3, unique=True))
    for name in names:
        thought = draw(st.sampled_from([[], [THOUGHT], [REDACTED]]))
        messages += [claude(*thought, call(name)), result(name)]
    messages.append(claude(draw(st.sampled_from(["Done.", "Done. "]))))
    place = draw(st.integers(0, len(messages) - 1))
    changed = [*messages[place]["content"]]
    at = draw(st.integers(0, len(changed)))
    match draw(st.sampled_from(["nothing", "nothing", "block", "block", "message", "lost"])):
        case "block":
            changed[at : at + draw(st.integers(0, 1))] = [draw(blocks)]
            messages[place] = messages[place] | {"content": changed}
        case "message":
            messages[place : place + draw(st.integers(0, 1))] = [draw(anything)]
        case "lost":
            del messages[place]
    return messages


def open_in(messages):
    """The calls of an answer that stands at the end."""
    said = messages[-1]["content"] if messages else ()
    return frozenset(b["id"] for b in said if isinstance(b, dict) and b.get("type") == "tool_use")


@given(
    st.lists(turns(), min_size=1, max_size=5),
    st.sampled_from([frozenset(), NOT_OURS_TO_JUDGE, NOT_OURS_TO_JUDGE | {ENDS_WITHOUT_SPACE}]),
    st.data(),
)
def test_a_history_that_grows_is_judged_like_one_that_is_read_in_full(talk, without, data):
    history, told = CleanHistory(), [*talk[0]]
    for turn in [*talk[1:], []]:
        grown = data.draw(st.integers(last_turn(told), len(told)))  # the last turn, while it runs
        for messages in (told[:grown], told):
            full = in_full(messages, open_in(messages), without)
            assert history.check([*messages], open_in(messages), without) == full
            going_on = [*full.messages, *data.draw(turns())]
            rest = history.of_what_was_told().check([*going_on], frozenset(), without)
            assert rest == in_full(going_on, without=without)
        if told and data.draw(st.booleans()):  # its thoughts are left out later on
            words = [b for b in told[-1]["content"] if b not in (THOUGHT, REDACTED)]
            told[-1] = told[-1] | {"content": words}
        told += turn


@pytest.mark.parametrize(
    "more",
    [
        [claude(call("toolu_1")), result("toolu_1")],  # an id that was used before
        [claude(call("toolu_2"))],  # a call without its result
        [claude(call("toolu_2")), user("Well?")],
        [claude(THOUGHT)],
        [claude("")],
        [user("And?")],  # two questions in a row
        [claude("Yes."), result("toolu_1")],
    ],
)
def test_what_breaks_a_rule_at_the_end_is_found(more):
    messages = [*EARLIER, *more]
    told = mended(messages, fully=True, clean=known(EARLIER))
    assert told == in_full(messages)
    assert told.repaired


def test_another_history_is_checked_in_full():
    messages = [
        user("Hello."),
        claude(""),
        *copy.deepcopy(EARLIER[2:]),
        claude("Yes."),
        user("And?"),
    ]
    assert mended(messages, fully=True, clean=known(EARLIER)).repaired


def test_what_is_counted_over_all_of_it_is_counted_on():
    for one, others in ((document(True), document()), (image(), image(9))):
        head = [user(one, "Look."), claude("Seen."), user("And?")]
        tail = [claude("Yes."), user(*[others] * 601, "This?")]
        told = mended([*head, *tail], fully=True, clean=known(head))
        assert told == in_full([*head, *tail])
        assert told.repaired


@pytest.mark.parametrize(
    "seen, asked", [("Seen.", 0), ([text("Seen.")], 20)], ids=["text", "blocks"]
)
def test_only_what_is_new_is_looked_at(seen, asked, monkeypatch):
    """And no rule is asked about what is plain."""
    looked_at, ruled, history = [], [], known(EARLIER)

    def counted(sizes, function):
        def called(messages, *how):
            sizes.append(len(getattr(messages, "messages", messages)))
            return function(messages, *how)

        return called

    monkeypatch.setattr(clean, "plain", counted(looked_at, plain))
    monkeypatch.setattr(clean, "lint", counted(ruled, lint))
    messages = [*EARLIER]
    for number in range(20):
        messages += [claude(call(f"toolu_n{number}")), result(f"toolu_n{number}", content=seen)]
        messages += [claude("Seen."), user("And?")]
        assert mended([*messages], fully=True, clean=history).repaired == []
    assert looked_at == [5] * 20  # a question, its answer, the next question
    assert ruled == [5] * asked


def test_what_was_repaired_is_not_repaired_again(monkeypatch):
    sizes, told, history, full = [], [], CleanHistory(), repair.repair

    def counted(request, without=()):
        sizes.append(len(request.messages))
        return full(request, without)

    monkeypatch.setattr(clean, "repair", counted)
    messages = [user("Hi."), claude(" ", call("a")), result("a"), claude("Seen."), user("And?")]
    for number in range(20):
        told.append(mended([*messages], clean=history))
        messages += [claude(call(f"b{number}")), result(f"b{number}"), claude("So."), user("And?")]
    assert sizes == [5]
    monkeypatch.undo()
    assert told[-1] == mended(messages[:-4])
    assert told[-1].repaired and told[-1].messages != messages[:-4]


def test_the_last_turn_begins_with_a_question():
    assert EARLIER[last_turn(EARLIER)] == user("Again.")
    assert EARLIER[last_turn(EARLIER[:-1])] == user("Look.")
    assert last_turn([]) == last_turn([user("Hi.")]) == 0
