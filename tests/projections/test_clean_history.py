"""A history that has grown is checked at its end, and the answer is that of a full check."""

import copy
from itertools import product

import pytest
from histories import BROKEN, GOOD, claude, document, image, user

from turnlog.projections.history import clean, lint, repair
from turnlog.projections.history.clean import MOST_WORDS, CleanHistory, is_plain_talk, last_turn
from turnlog.projections.history.messages import mended
from turnlog.projections.history.request import Request
from turnlog.testing.samples import call


def result(id):
    return user({"type": "tool_result", "tool_use_id": id, "content": "Seen."})


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
    assert history.check([*messages], frozenset(), ()) == mended([*messages], fully=True)
    return history


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_whatever_comes_to_a_clean_history_the_answer_is_that_of_a_full_check(tail):
    # After an answer, as its continuation, and in place of the last question.
    for head in (EARLIER, [*EARLIER, claude("Yes.")], EARLIER[:-1]):
        messages = [*head, *copy.deepcopy(tail)]
        assert mended(messages, fully=True, clean=known(EARLIER)) == mended(messages, fully=True)


TALK = [user("Hi."), claude("Ho.", "Yes."), user("And?", "Now?")]


@pytest.mark.parametrize("messages", [TALK[:1], TALK, *TAILS.values()])
def test_plain_talk_breaks_no_rule(messages):
    """Whatever one message of it is exchanged for, or comes in between."""
    for place, other in product(range(len(messages) + 1), [*TALK, *EARLIER, None]):
        for taken in (0, 1):
            changed = [*messages[:place], *([other] if other else []), *messages[place + taken :]]
            if changed and is_plain_talk(changed):
                assert lint.lint(Request({"messages": changed})) == []


def test_what_is_plain_talk():
    assert is_plain_talk(TALK[:1]) and is_plain_talk(TALK)
    marked = TALK[0]["content"][0] | {"cache_control": {"type": "ephemeral"}}
    odd = [[], TALK[:2], TALK[1:], [user()], [user(" ")], [user(marked)], [user(THOUGHT)],
           [user("Hi.") | {"id": "x"}], [user("Hi.") | {"content": "Hi."}], EARLIER,
           [user({"type": "text", "text": 5})], [user("x" * (MOST_WORDS + 1))]]  # fmt: skip
    assert not any(map(is_plain_talk, odd))


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
    found = mended(messages, fully=True, clean=known(EARLIER))
    assert found == mended(messages, fully=True)
    assert found.repaired


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
        found = mended([*head, *tail], fully=True, clean=known(head))
        assert found == mended([*head, *tail], fully=True)
        assert found.repaired


def test_only_what_is_new_is_looked_at(monkeypatch):
    looked_at, history = [], known(EARLIER)
    full = lint.lint

    def counted(request, without=()):
        looked_at.append(len(request.messages))
        return full(request, without)

    monkeypatch.setattr(clean, "lint", counted)
    messages = [*EARLIER]
    for number in range(20):
        messages += [claude(call(f"toolu_n{number}")), result(f"toolu_n{number}")]
        messages += [claude("Seen."), user("And?")]
        assert mended([*messages], fully=True, clean=history).repaired == []
    assert (len(looked_at), max(looked_at)) == (20, 5)  # a question, its answer, the next question


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
