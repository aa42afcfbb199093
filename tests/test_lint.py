"""Every rule of a history: the API refuses what breaks it, lint names it, repair mends it."""

import io
import json
from typing import get_args

import aiohttp
import msgspec
import pytest
import typing_extensions
from histories import AND, BROKEN, GOOD, HI, HO, LOOK, SEEN, ask, claude, image, search, user
from recorded import REQUESTS, each

from turnlog.projections.history.blocks import CITATIONS, KINDS, ONLY_IN_ANSWERS, SERVER_RESULT
from turnlog.projections.history.lint import RULES, advise, lint
from turnlog.projections.history.repair import FIXES, repair
from turnlog.projections.history.request import Request
from turnlog.simulator import SimulatedClaude
from turnlog.testing.samples import call, text

KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def request(body):
    return Request(body, size=len(msgspec.json.encode(body)))


async def answer(body):
    """What the simulated API says to it, over HTTP: the status and the words."""
    sim = SimulatedClaude(pace=0)
    async with sim.serve() as url, aiohttp.ClientSession(headers=KEY) as client:
        raw = io.BytesIO(msgspec.json.encode(body))
        async with client.post(f"{url}/v1/messages", data=raw) as response:
            return response.status, await response.text()


@pytest.mark.parametrize(("rule", "place", "body"), BROKEN.values(), ids=BROKEN)
async def test_what_the_api_refuses_is_named_and_mended(rule, place, body):
    before = json.dumps(body)
    assert (await answer(body))[0] in (400, 413)
    repaired = repair(request(body))
    assert (rule, place) in [found[:2] for found in repaired.found]
    assert repaired.left == lint(request(repaired.body)) == []
    status, said = await answer(repaired.body)
    assert status == 200, said
    assert json.dumps(body) == before  # mended in a copy


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
async def test_what_the_api_takes_has_no_findings_and_stays_the_same(body):
    assert (await answer(body))[0] == 200
    repaired = repair(request(body))
    assert (repaired.found, repaired.left) == ([], [])
    assert repaired.body is body


def test_every_rule_has_a_history_that_breaks_it_and_a_fix():
    assert len(BROKEN) >= 20
    advice = {name for name, rule in RULES.items() if rule.advice}
    assert {rule for rule, _, _ in BROKEN.values()} == RULES.keys() - advice
    assert list(FIXES) == [name for name in RULES if name not in advice]


# what exactly is done


def mended(*messages, **more):
    repaired = repair(request(ask(*messages, **more)))
    assert repaired.left == []
    return repaired.body["messages"]


def test_a_result_that_came_too_late_is_brought_to_its_call():
    messages = mended(HI, LOOK, AND, HO, user({**SEEN["content"][0]}, "So?"))
    assert messages == [HI, LOOK, user(SEEN["content"][0], "And?"), HO, user("So?")]


def test_a_call_that_was_never_answered_is_told_so():
    messages = mended(HI, LOOK, AND)
    answered, said = messages[2]["content"]
    assert (answered["tool_use_id"], answered["is_error"], said) == ("a", True, text("And?"))


def test_a_second_call_of_one_id_keeps_its_own_result():
    again = user({**SEEN["content"][0], "content": "other"})
    messages = mended(HI, LOOK, SEEN, LOOK, again)
    assert messages[:3] == [HI, LOOK, SEEN]
    assert messages[3]["content"][0]["id"] == messages[4]["content"][0]["tool_use_id"] == "a_2"
    assert messages[4]["content"][0]["content"] == "other"


def test_a_misplaced_result_gets_a_message_of_its_own():
    inside = claude(call("a"), SEEN["content"][0], "Done.")
    assert mended(HI, inside, AND) == [HI, LOOK, SEEN, claude("Done."), AND]


def test_the_system_message_of_a_request_becomes_its_system_prompt():
    body = ask({"role": "system", "content": "Be kind."}, HI, system="Be brief.")
    repaired = repair(request(body)).body
    assert (repaired["system"], repaired["messages"]) == (
        [text("Be brief."), text("Be kind.")],
        [HI],
    )


def test_the_newest_models_take_a_system_message_after_the_user():
    later = {"role": "system", "content": "Be kind."}
    assert lint(request(ask(HI, later, HO, AND, model="claude-opus-4-8"))) == []
    assert lint(request(ask(HI, later, HO, AND, model="claude-opus-4-7"))) != []


def test_a_call_of_ours_from_inside_of_the_providers_tool_may_wait():
    caller = {"type": "code_execution_20260120", "tool_id": "srv"}
    waits = claude(search(), call("a") | {"caller": caller})
    assert lint(request(ask(HI, waits, SEEN))) == []
    assert [f.rule for f in lint(request(ask(HI, waits, SEEN, HO, AND)))] == [
        "server-tools-are-whole"
    ]


def test_calls_that_still_run_are_left_open():
    body = ask(HI, claude(call("a"), call("b")), SEEN)
    assert lint(Request(body, open_calls=frozenset("b"))) == []


def test_without_a_model_a_last_word_of_the_assistant_is_no_mistake():
    assert lint(Request({"messages": [HI, HO]})) == []


def test_files_after_the_text_are_advised_against_and_not_moved():
    body = ask(user("Hi", image()))
    assert [found.rule for found in advise(request(body))] == ["files-come-before-text"]
    assert repair(request(body)).body is body


@pytest.mark.parametrize("value", [7, "x", None, [], {}, [[]], {"a": []}, True], ids=repr)
@pytest.mark.parametrize(
    "field", ["role", "content", "type", "text", "id", "tool_use_id", "source"]
)
def test_a_field_of_any_type_is_named_or_harmless(field, value):
    message = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    block = {"type": "tool_result" if "tool" in field else "image", field: value}
    for broken in (message | {field: value}, message | {"content": [block]}):
        assert repair(request(ask(broken, LOOK))).left == []


# against the real thing


def members(union):
    """The classes of a union, however deep."""
    found = [] if get_args(union) else [union]
    return found + [each for part in get_args(union) for each in members(part)]


def test_the_fields_of_blocks_are_those_of_anthropics_sdk():
    from anthropic.types.beta.beta_content_block_param import BetaContentBlockParam

    compared = set()
    for param in members(BetaContentBlockParam):
        if not typing_extensions.is_typeddict(param):
            continue
        fields = set(param.__annotations__) - {"type", "_from", "from_"}
        type = get_args(typing_extensions.get_type_hints(param)["type"])[0]
        known = KINDS.get(type, SERVER_RESULT)
        assert fields <= known.fields if known is SERVER_RESULT else fields == known.fields
        compared.add(type)
    assert compared >= KINDS.keys() - {"fallback"}


def test_the_fields_of_citations_are_those_of_anthropics_sdk():
    from anthropic.types import TextCitation, TextCitationParam

    hints = typing_extensions.get_type_hints
    taken = {get_args(hints(one)["type"])[0]: one for one in members(TextCitationParam)}
    assert {type: one.__annotations__.keys() for type, one in taken.items()} == CITATIONS
    for given in members(get_args(TextCitation)[0]):
        (type,) = get_args(given.model_fields["type"].annotation)
        assert given.model_fields.keys() - CITATIONS[type] <= ONLY_IN_ANSWERS


@pytest.mark.parametrize("path", each(REQUESTS))
def test_a_request_that_the_api_has_taken_is_clean(path):
    assert lint(request(json.loads(path.read_bytes()))) == []
