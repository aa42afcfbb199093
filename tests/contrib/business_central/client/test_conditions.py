"""`$filter` conditions: any text becomes one string literal."""

from hypothesis import given
from hypothesis import strategies as st

from turnlog.contrib.business_central.client.conditions import all_of, contains, equals, one_of
from turnlog.contrib.business_central.sandbox.query.parser import parse
from turnlog.contrib.business_central.sandbox.query.tree import Call, Compare, In, Literal, Property


@given(st.text())
def test_any_text_becomes_one_string_literal(text):
    assert parse(equals("city", text).text) == Compare(
        "eq", Property("city"), Literal("string", text)
    )
    (value,) = parse(one_of("city", [text]).text).values
    assert value == Literal("string", text)
    assert parse(contains("city", text).text).arguments == (
        Call("tolower", (Property("city"),)),
        Literal("string", text.lower()),
    )


def test_conditions_are_joined():
    assert all_of([]) is None
    joined = all_of([equals("a", True), equals("b", 5)])
    assert joined.text == "a eq true and b eq 5"
    assert isinstance(parse(one_of("a", ["x", "y"]).text), In)
