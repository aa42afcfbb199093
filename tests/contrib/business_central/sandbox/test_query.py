"""Queries, pages, batches, tokens and failures of the Business Central sandbox. § as elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.contrib.business_central.sandbox import Sandbox
from turnlog.contrib.business_central.sandbox.query.parser import ARGUMENTS, COMPARISONS, parse
from turnlog.contrib.business_central.sandbox.query.tree import (
    Both,
    Call,
    Compare,
    Either,
    In,
    Literal,
    Not,
    Property,
    write,
)
from turnlog.contrib.business_central.sandbox.refusal import Refused
from turnlog.contrib.business_central.sandbox.service import Call as ServiceCall
from turnlog.testing.business_central import odata_client


@pytest.fixture
async def bc():
    async with odata_client() as client:
        yield client


# §5 $filter

FILTERS = [  # the filter, and how many of the 28 customers it leaves
    ("number eq '10000'", 1),
    ("number ne '10000'", 27),
    ("creditLimit gt 50000", 6),
    ("creditLimit ge 50000 and creditLimit le 60000", 3),
    ("not (creditLimit lt 90000)", 1),
    ("city eq 'Boston' or city eq 'Miami'", 2),
    ("startswith(displayName,'A')", 2),
    ("endswith(displayName,'Corporation')", 1),
    ("contains(displayName,'ow')", 2),
    ("contains(displayName,'OW')", 0),
    ("tolower(city) eq 'boston'", 1),
    ("toupper(city) eq 'BOSTON'", 1),
    ("substring(number,1) eq '00140'", 1),
    ("displayName eq 'O''Brien & Daughters'", 1),
    ("taxLiable eq true", 21),
    ("taxLiable", 21),
    ("blocked eq 'All'", 1),
    ("blocked ne '_x0020_'", 2),
    ("lastModifiedDateTime gt 2020-01-01T00:00:00Z", 28),
    ("paymentTermsId eq 00000000-0000-0000-0000-000000000000", 0),
    ("number eq null", 0),
    ("city eq 'Boston' and (number eq '1' or number eq 'C00140')", 1),
]


@pytest.mark.parametrize(("filter", "count"), FILTERS)
async def test_a_filter_selects_these_customers(bc, filter, count):
    assert len(await bc.rows("customers", filter=filter)) == count


REFUSED = [
    ("No eq", "Expression expected at position 5 in 'No eq'."),
    ("Nope eq 1", "Could not find a property named 'Nope' on type 'Microsoft.NAV.customer'."),
    ("city eq 'a' or number eq 'b'", "The 'OR' operator is not supported on distinct fields"),
    ("(city eq 'a' and number eq 'b') or city eq 'c'", "The 'OR' operator is not supported"),
    ("number in ('1','2')", "$schemaversion=2.1"),
    ("contains(tolower(city),'a')", "$schemaversion=2.1"),
    ("contacts/any(c: c/name eq 'x')", "at position"),
    ("number eq 10000", "incompatible types"),
    ("creditLimit eq 'x'", "incompatible types"),
    ("displayName", "boolean"),
    ("city eq number", "compares a field with a value"),
    ("explode(city)", "unknown function"),
    ("substring(city,'x') eq 'y'", "signature"),
    ("lastModifiedDateTime gt 2020-13-01T00:00:00Z", "not a date"),
    ("city eq 'a", "unterminated"),
    ("(" * 500 + "true", "recursion"),
    ("not " * 500 + "true", "recursion"),
    ("tolower(" * 500 + "city" + ")" * 500, "recursion"),
]


@pytest.mark.parametrize(("filter", "says"), REFUSED, ids=range(len(REFUSED)))
async def test_a_wrong_filter_is_refused_with_the_reason(bc, filter, says):
    reply = await bc.get("customers", filter=filter)
    assert (reply.status, reply.code) == (400, "BadRequest")
    assert says in reply.message


async def test_schema_version_2_1_allows_in_and_nested_functions(bc):
    both = {"filter": "number in ('10000','20000')", "schemaversion": "2.1"}
    assert len(await bc.rows("customers", **both)) == 2
    nested = {"filter": "contains(tolower(displayName),'OW') eq false", "schemaversion": "2.1"}
    assert len(await bc.rows("customers", **nested)) == 28


names = st.from_regex(r"[a-z][A-Za-z0-9]{0,8}", fullmatch=True).filter(
    lambda name: name not in {*COMPARISONS, "and", "or", "not", "in", "true", "false", "null"}
)
literals = st.one_of(
    st.builds(Literal, st.just("string"), st.text(max_size=12)),
    st.builds(Literal, st.just("number"), st.integers().map(str)),
    st.builds(Literal, st.just("boolean"), st.sampled_from(["true", "false"])),
    st.builds(Literal, st.just("guid"), st.uuids().map(str)),
    st.builds(Literal, st.just("date"), st.dates().map(str)),
    st.just(Literal("null", "null")),
)
properties = st.builds(Property, names)
calls = st.recursive(
    properties | literals,
    lambda inner: st.sampled_from(sorted(ARGUMENTS)).flatmap(
        lambda name: st.builds(Call, st.just(name), st.tuples(*[inner] * ARGUMENTS[name][0]))
    ),
    max_leaves=4,
)
conditions = st.one_of(
    st.builds(Compare, st.sampled_from(COMPARISONS), calls, calls),
    st.builds(In, properties, st.lists(literals, min_size=1, max_size=3).map(tuple)),
    calls,
)
trees = st.recursive(
    conditions,
    lambda inner: (
        st.builds(Both, inner, inner) | st.builds(Either, inner, inner) | st.builds(Not, inner)
    ),
    max_leaves=8,
)


@given(trees)
def test_a_written_filter_parses_to_the_same_tree(tree):
    assert parse(write(tree)) == tree


SANDBOX = Sandbox()
pieces = st.sampled_from(
    [*COMPARISONS, *ARGUMENTS, "and", "or", "not", "in", "(", ")", ",", "'", "''", "city", "x"]
    + ["number", "creditLimit", "taxLiable", "1", "-1", "1e999", "null", "true", "2026-01-01", "/"]
    + ["lastModifiedDateTime", "2026-01-01T00:00:00Z", "2026-99-99T99:99:00Z", "\\", "é", "\x00"]
)
hostile = st.text(max_size=60) | st.lists(pieces, max_size=12).map(" ".join)


@given(hostile, st.sampled_from(["2.0", "2.1"]))
def test_every_filter_is_answered_or_refused(filter, version):
    query = [("$filter", filter), ("$schemaversion", version)]
    answer = SANDBOX.service.answer(ServiceCall("GET", "customers", query))
    assert answer.status in (200, 400)


@given(hostile)
def test_any_text_parses_to_a_tree_or_is_refused(text):
    try:
        tree = parse(text)
    except Refused as refused:
        assert refused.status == 400
    else:
        assert parse(write(tree)) == tree


# §5 the other options


async def test_select_order_top_and_skip(bc):
    options = {"select": "number,city", "orderby": "city desc,number", "top": 2, "skip": 1}
    rows = await bc.rows("customers", **options)
    assert [set(row) for row in rows] == [{"@odata.etag", "number", "city"}] * 2
    assert [row["city"] for row in rows] == ["Walla Walla", "Tulsa"]


async def test_count_counts_every_matching_row(bc):
    page = (await bc.get("customers", count="true", top=1, filter="taxLiable eq false")).body
    assert (page["@odata.count"], len(page["value"])) == (7, 1)
    counted = await bc.get("customers/$count", filter="taxLiable eq false")
    assert counted.body == "7"


async def test_expanded_lines_and_links_have_their_own_options(bc):
    expand = "salesInvoiceLines($select=quantity;$orderby=quantity desc;$top=2),customer"
    (row,) = await bc.rows("salesInvoices", top=1, skip=5, expand=expand)
    assert row["customer"]["displayName"] == row["customerName"]
    quantities = [line["quantity"] for line in row["salesInvoiceLines"]]
    assert quantities == sorted(quantities, reverse=True)
    assert len(quantities) <= 2


BAD_OPTIONS = [
    {"select": "nope"},
    {"orderby": "nope"},
    {"orderby": "city sideways"},
    {"expand": "nope"},
    {"expand": "currency($select=nope)"},
    {"top": "-1"},
    {"skip": "x"},
    {"skiptoken": "x"},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
async def test_a_wrong_option_is_refused(bc, options):
    assert (await bc.get("customers", **options)).status == 400


async def test_unknown_options_are_ignored(bc):
    rows = await bc.rows("customers", apply="groupby((city))", search="x", wibble="1")
    assert len(rows) == 28


async def test_an_address_that_is_too_long_is_400(bc):
    reply = await bc.get("customers", filter=f"city eq '{'x' * 16_000}'")
    assert (reply.status, "too long" in reply.message) == (400, True)


# §5 paging


async def pages(bc, path, size=None, **options):
    """The rows of every page, read by following the links."""
    headers = {"Prefer": f"odata.maxpagesize={size}"} if size else {}
    page = (await bc.call("GET", path, headers=headers, **options)).body
    rows = [page["value"]]
    while link := page.get("@odata.nextLink"):
        page = (await bc.call("GET", "", at=link.replace("$", "%24"), headers=headers)).body
        rows.append(page["value"])
    return rows


async def test_pages_hold_every_row_once(bc):
    read = await pages(bc, "customers", 10, orderby="city")
    assert [len(page) for page in read] == [10, 10, 8]
    cities = [row["city"] for page in read for row in page]
    assert cities == sorted(cities)
    assert len({row["id"] for page in read for row in page}) == 28


async def test_the_next_link_is_absolute_and_names_the_last_row(bc):
    headers = {"Prefer": "odata.maxpagesize=2"}
    page = (await bc.call("GET", "customers", headers=headers)).body
    link, last = page["@odata.nextLink"], page["value"][-1]["id"]
    assert link == f"{bc.company}/customers?aid=FIN&$skiptoken={last}"


async def test_a_preferred_page_size_is_limited():
    async with odata_client(page_size=5) as bc:
        read = await pages(bc, "customers", 10)
        assert [len(page) for page in read] == [5, 5, 5, 5, 5, 3]


async def test_a_top_that_fits_one_page_has_no_next_link():
    async with odata_client(page_size=5) as bc:
        assert [len(page) for page in await pages(bc, "customers", top=5)] == [5]
        assert [len(page) for page in await pages(bc, "customers", top=12)] == [5, 5, 2]
