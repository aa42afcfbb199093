"""Fingerprints of what stands before the messages. They are kept in logs, so they never change."""

import pytest
from msgspec.structs import replace

from turnlog.pipeline.context.prefixes import Prefix, Prefixes
from turnlog.ports import ToolSpec

FIND = ToolSpec(name="find", description="Find it.", input_schema={"type": "object"})
ONE, TRUE = {"type": "object", "minProperties": 1}, {"minProperties": True, "type": "object"}
PREFIX = Prefix("claude-haiku-4-5", "Be kind.", None, [FIND])


def test_a_fingerprint_is_that_of_earlier_versions():
    assert PREFIX.fingerprint == "0546590867649b82"


@pytest.mark.parametrize(
    "other",
    [
        replace(PREFIX, model="claude-opus-4-5"),
        replace(PREFIX, system="Be brief."),
        replace(PREFIX, searching="on"),
        replace(PREFIX, searching=0),
        replace(PREFIX, tools=[]),
        replace(PREFIX, tools=[ToolSpec(name="find", description="Find it.", input_schema=ONE)]),
        replace(PREFIX, tools=[ToolSpec(name="find", description="Find it.", input_schema=TRUE)]),
        replace(PREFIX, tools=[ToolSpec(name="find", description="", input_schema={})]),
    ],
)
def test_each_change_of_a_prefix_is_noticed(other):
    known = Prefixes()
    before = known.fingerprint("a", PREFIX)
    assert known.fingerprint("a", other) == other.fingerprint != before
    assert known.fingerprint("a", PREFIX) == before == known.fingerprint("b", PREFIX)


def test_a_schema_that_is_changed_in_place_is_noticed():
    schema = {"type": "object"}
    prefix = replace(PREFIX, tools=[ToolSpec(name="t", description="", input_schema=schema)])
    known = Prefixes()
    before = known.fingerprint("a", prefix)
    schema["title"] = "T"
    assert known.fingerprint("a", prefix) == prefix.fingerprint != before
    schema["additionalProperties"], schema["title"] = False, schema.pop("title")
    assert known.fingerprint("a", prefix) == prefix.fingerprint
