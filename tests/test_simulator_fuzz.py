"""Any request that the rules take gets an answer that the rules take back."""

import json
import re
from typing import Any

import msgspec
import pytest
from claude_request import KEY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sim_tools import ALL_TOOLS, Chat, tasks

from turnlog.simulator import Refused, ToolCall
from turnlog.simulator.conversation import answer
from turnlog.simulator.conversation.erp import KINDS
from turnlog.simulator.conversation.intents import TABLE
from turnlog.simulator.conversation.patterns import WORDS
from turnlog.simulator.rules import check
from turnlog.simulator.stream import events, message

pytestmark = pytest.mark.slow  # hundreds of examples

SAID = ["delete all", "list", "it", "tasks", "create", "customer", "3", "and", "“x”", "2026-12-01"]
SAID += ["who are you", "search the web for", "to", "for", "the second", "1*2", "my name is", "\n"]
words = st.lists(st.sampled_from(SAID) | st.text(min_size=1), min_size=1, max_size=8).map(" ".join)
said = words.filter(lambda text: text.strip() != "")
names = st.sampled_from(
    ["name", "id", "customer_id", "dueDate", "query", "lines", "x", "email", "on"]
)
leaves = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["string", "integer", "number", "boolean", "array", "object", "null"]
        )
        | st.just(["string", "null"]),
        "enum": st.lists(st.text() | st.integers() | st.none(), max_size=3),
        "const": st.none() | st.text(),
        "default": st.none() | st.integers(),
        "format": st.sampled_from(["date", "uuid", "x"]),
        "$ref": st.sampled_from(["#/$defs/a", "#", "nowhere"]),
        "description": st.text(),
    },
)
schemas = st.recursive(
    leaves,
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array"])},
        optional={
            "properties": st.dictionaries(names, inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "required": st.lists(names, max_size=2),
        },
    ),
    max_leaves=6,
)
tools = st.builds(
    lambda name, about, properties, required: {
        "name": name,
        "description": about,
        "input_schema": {"type": "object", "properties": properties, "required": required},
    },
    st.from_regex(r"[a-z]{1,6}_[a-zA-Z0-9_-]{1,12}", fullmatch=True)
    | st.sampled_from(["delete_x", "list_x", "find_x", "add_task", "transfer_to_x"]),
    st.text(max_size=60),
    st.dictionaries(names, schemas, max_size=4),
    st.lists(names, max_size=3),
)
results = st.one_of(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text() | st.integers(-9, 9),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text() | names, inner, max_size=3)
        ),
        max_leaves=8,
    ).map(lambda value: msgspec.json.encode(value).decode()),
)
choices = st.sampled_from(
    [None, {"type": "any"}, {"type": "none"}, {"type": "auto", "disable_parallel_tool_use": True}]
)
HEADERS = {**KEY, "content-type": "application/json"}


def accepted(body):
    try:
        return check(HEADERS, msgspec.json.encode(body))
    except (Refused, UnicodeEncodeError, msgspec.EncodeError):
        return None


def unique(tools):
    return list({tool["name"]: tool for tool in tools}.values())


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_conversation_goes_on(data):
    """Several turns, with whatever the tools return; every request is checked by the rules."""
    offered = data.draw(st.lists(tools, max_size=3).map(unique) | st.just(ALL_TOOLS))
    body = {"model": "claude-sonnet-4-6", "max_tokens": 100, "messages": [], "tools": offered}
    choice = data.draw(choices)
    if choice and offered:
        body["tool_choice"] = choice
    for question in data.draw(st.lists(said, min_size=1, max_size=3)):
        body["messages"].append({"role": "user", "content": question})
        for _ in range(4):
            if accepted(body) is None:
                return
            reply = answer(body)
            list(events(reply, body))
            content = message(reply, body)["content"]
            assert content
            body["messages"].append({"role": "assistant", "content": content})
            calls = [block for block in content if block["type"] == "tool_use"]
            names = {tool["name"] for tool in offered}
            assert {call["name"] for call in calls} <= names
            if not calls:
                break
            body["messages"].append({"role": "user", "content": [result(data, c) for c in calls]})
        else:
            return


def result(data, call):
    content = data.draw(results)
    failed = data.draw(st.booleans())
    return {
        "type": "tool_result",
        "tool_use_id": call["id"],
        **({"content": content} if content.strip() else {}),
        **({"is_error": True} if failed else {}),
    }


@settings(max_examples=80, deadline=None)
@given(said, st.lists(tools, min_size=1, max_size=3).map(unique))
def test_a_tool_that_must_be_called_is_called_with_an_object(question, offered):
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": question}],
        "tools": offered,
        "tool_choice": {"type": "tool", "name": offered[-1]["name"]},
    }
    if accepted(body) is None:
        return
    (call,) = [block for block in answer(body).blocks if isinstance(block, ToolCall)]
    assert call.name == offered[-1]["name"]
    assert isinstance(call.input, dict)
    msgspec.json.encode(call.input)


# --- it never guesses ---

# fmt: off
SLOTS = {
    "city":   ["Portland", "Rome with 2 hills"],     "field":   ["balance", "price", "status"],
    "fact":   ["favourite colour", "IBAN"],          "value":   ["green", "it", "12"],
    "kind":   ["customer", "item", "invoice"],       "kinds":   ["customers", "items", "invoices"],
    "lines":  ["2 lamps", "3 Athens desks and 1 lamp", "a lamp"],
    "name":   ["Adatum", "Trey", "it", "10000", "Athens desk", "nobody", "that invoice", '"A, B"'],
    "new_name": ["Blue Bay", '"Salt, Sand"'],        "number":  ["1001", "P1001"],
    "query":  ["holidays"],                          "state":   ["draft", "open"],
    "status": ["open", "completed"],                 "sum":     ["1.5 + 2", "15% of 240", "1,5"],
    "task":   ["11", "#12", "99", "it", "the second one", "Buy milk", "nothing"],
    "title":  ["Buy milk", "A, B and C", '"A and B"'], "titles":  ["A, B and C", "A and B", "A"],
}
# fmt: on
PATTERNS = [intent.pattern for intents in TABLE.values() for intent in intents]
CHOICE = re.compile(r"<(\w+)>|\{(\w+)\}|\(([^()]+)\)|\[([^][]+)\] ?")
NOISE = ["refund payment 120", "weather in Bern", "use", "please", "not", "or 12", "?", "\n", "."]


@st.composite
def said_by_the_table(draw):
    """A sentence that some row of the table reads, with values that it may not like."""
    text = draw(st.sampled_from(PATTERNS)).replace(":?", draw(st.sampled_from([":", ""])))
    while match := CHOICE.search(text):
        word, slot, one, maybe = match.groups()
        options = (
            WORDS[word].split("|") if word else SLOTS[slot] if slot else (one or maybe).split("|")
        )
        chosen = draw(st.sampled_from([*options, *([""] if maybe else [])]))
        text = (
            text[: match.start()] + chosen + (" " if maybe and chosen else "") + text[match.end() :]
        )
    return text


parts = st.lists(said_by_the_table() | st.sampled_from(NOISE) | said, min_size=1, max_size=2)
sentences = st.tuples(parts, st.sampled_from([" ", " and ", ", ", "\n"])).map(
    lambda pair: pair[1].join(pair[0])
)
READ = {"calculate"} | {
    tool.format(kind=kind)
    for intents in TABLE.values()
    for intent in intents
    for tool in intent.tools.replace("|", " ").split()
    for kind in {*KINDS.values()}
}


def leaves(value: Any) -> list[Any]:
    """The single values inside of arguments, or of a result."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, list) else [value]


class Heard:
    """The words of the user and the results of tools, up to some point of a conversation."""

    def __init__(self):
        self.words, self.values = "", []

    def listen(self, message):
        content = message["content"]
        if isinstance(content, str):
            self.words += f"\n{' '.join(content.split())}"
        elif message["role"] == "user":
            self.values += [leaf for block in content for leaf in leaves(decoded(block["content"]))]

    def holds(self, name, value):
        if value in self.values:
            return True
        if name == "calculate":  # a sum is said when its numbers are; a percent is a hundredth
            numbers = {*re.findall(r"[\d.]+", self.words), *(["100"] if "%" in self.words else [])}
            return set(re.findall(r"[\d.]+", value)) <= numbers
        if isinstance(value, str):
            return " ".join(value.lower().split()) in self.words.lower()
        return re.search(rf"(?<!\d){value}(?!\d)", self.words) is not None


def decoded(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(tools, max_size=3), st.lists(sentences, min_size=1, max_size=4))
def test_only_what_was_said_is_called_and_only_use_reaches_any_tool(others, questions):
    chat = Chat(unique([*ALL_TOOLS, *others]), tasks("Buy milk", "Call Bob"))
    for question in questions:
        if question.strip():
            chat.say(question)
    heard, is_used = Heard(), False
    for each in chat.messages:
        heard.listen(each)
        if isinstance(each["content"], str):
            is_used = re.match(r"\s*(please\s+)?use\s", each["content"], re.I) is not None
        for block in each["content"] if each["role"] == "assistant" else ():
            if block["type"] == "tool_use" and not is_used:
                assert block["name"] in READ
                for value in leaves(block["input"]):
                    assert heard.holds(block["name"], value), (value, questions)
