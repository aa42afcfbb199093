"""The schema that the API is given is the one that its SDK would give it."""

from datetime import date
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from turnlog.engines.claude.output_schema import strict
from turnlog.ports import Agent
from turnlog.tools.agents.outputs import with_schema


class Part(msgspec.Struct):
    """A part."""

    number: Annotated[int, Meta(ge=1, le=9, description="Its number")]
    kind: Literal["a", "b", 3]
    opened: date
    parts: Annotated[list["Part"], Meta(min_length=2)]
    names: Annotated[list[str], Meta(min_length=1, max_length=5)] = []
    code: Annotated[str, Meta(pattern="^A", max_length=4)] = "A"
    share: float | None = None


OTHERS = {
    "a constant": {"const": 3, "type": "integer"},
    "a reference": {"$ref": "#/$defs/A", "$defs": {"A": {"type": "string", "format": "binary"}}},
    "one of": {"oneOf": [{"type": "null"}, {"type": "boolean"}], "title": "T"},
    "all of": {"allOf": [{"type": "object", "properties": {}}], "description": "D"},
    "an enum of lists": {"type": "array", "enum": [[1], [2]]},
    "open": {"type": "object", "additionalProperties": {"type": "integer"}},
}
SCHEMAS = OTHERS | {
    str(kind): with_schema(Agent("a", output=kind)).output_schema
    for kind in (Part, list[Part], dict[str, int], str, int | None)
}


@pytest.mark.slow  # the SDK takes a second to load
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_it_is_what_the_sdk_makes_of_it(schema):
    from anthropic import transform_schema

    assert strict(schema) == transform_schema(dict(schema))
