"""The Business Central sandbox says what API v2.0 says. § is the section of our fact sheet."""

import base64
import json
import re
from pathlib import Path

import pytest
from bc_client import signed_in

from turnlog.contrib.business_central.sandbox.entities import COMPANY, ENTITIES

FACTS = next(
    (
        place / "business-central" / "schema.json"
        for place in (Path("/work/shared"), Path(__file__).parent.parent.parent / "shared")
        if (place / "business-central" / "schema.json").exists()
    ),
    None,
)
STALE = 'W/"JzIwOzEyMzsn"'


@pytest.fixture
async def bc():
    async with signed_in() as client:
        yield client


# §1 addressing


async def test_the_service_lists_its_sets_and_its_companies(bc):
    names = [one["name"] for one in (await bc.get("", at=bc.api)).body["value"]]
    assert {"companies", "customers", "salesInvoices", "unitsOfMeasure"} <= set(names)
    companies = await bc.rows("companies", at=bc.api)
    assert [one["name"] for one in companies] == ["CRONUS USA, Inc.", "My Company"]


async def test_the_tenant_may_be_left_out(bc):
    at = bc.api.replace("/sandbox/", "/")
    assert len(await bc.rows("companies", at=at)) == 2


async def test_a_header_or_the_query_selects_the_company(bc):
    chosen = await bc.call("GET", "customers", at=bc.api, headers={"Company": "My Company"})
    assert chosen.body["value"] == []
    at = f"{bc.api}/customers?company=My%20Company"
    assert (await bc.get("", at=at)).body["value"] == []
    assert len(await bc.rows("customers", at=bc.api)) == 28


async def test_metadata_names_every_entity(bc):
    told = (await bc.get("$metadata", at=bc.api)).body
    assert all(f'EntitySet Name="{entity.set}"' in told for entity in ENTITIES.values())


async def test_a_wrong_environment_is_the_gateways_xml(bc):
    reply = await bc.get("companies", at=bc.api.replace("Production", "Nope"))
    assert (reply.status, "NoEnvironment" in reply.body) == (404, True)


@pytest.mark.skipif(FACTS is None, reason="there is no shared/business-central/schema.json")
@pytest.mark.parametrize("entity", [COMPANY, *ENTITIES.values()], ids=lambda one: one.name)
def test_fields_and_actions_are_those_of_the_documentation(entity):
    told = json.loads(FACTS.read_text())["entities"][entity.name]
    documented = {one["name"]: one for one in told["properties"]}
    assert set(entity.fields) <= set(documented)
    assert set(entity.actions) <= set(told["bound_actions"])
    for name, field in entity.fields.items():
        if "values" in documented[name]:
            assert list(field.options) == documented[name]["values"]


# §2 envelope


async def test_an_etag_comes_first_and_looks_like_the_real_one(bc):
    row = (await bc.rows("customers", top=1))[0]
    assert next(iter(row)) == "@odata.etag"
    inside = base64.b64decode(re.fullmatch(r'W/"(.+)"', row["@odata.etag"])[1]).decode()
    assert re.fullmatch(r"'20;\d+1;00;'", inside)


async def test_contexts_and_headers_are_those_of_odata(bc):
    found = await bc.get("customers")
    assert found.body["@odata.context"].endswith(f"({bc.company.split('(')[1]}/customers")
    assert found.headers["OData-Version"] == "4.0"
    assert "odata.metadata=minimal" in found.headers["Content-Type"]
    one = await bc.get(f"customers({found.body['value'][0]['id']})")
    assert one.body["@odata.context"].endswith("/customers/$entity")


async def test_empty_values_and_escaped_options(bc):
    made = (await bc.post("customers", displayName="Empty Ltd")).body
    assert made["paymentTermsId"] == "00000000-0000-0000-0000-000000000000"
    assert (made["blocked"], made["addressLine1"], made["creditLimit"]) == ("_x0020_", "", 0)
    service = await bc.one("items", number="1965-W")
    assert service["type"] == "Non_x002D_Inventory"


async def test_ids_and_rows_are_the_same_every_time(bc):
    async with signed_in() as other:
        assert [row["id"] for row in await bc.rows("salesInvoices")] == [
            row["id"] for row in await other.rows("salesInvoices")
        ]


# §3 verbs


async def test_a_row_is_made_changed_and_deleted(bc):
    made = await bc.post("customers", displayName="Test Corp")
    path = f"customers({made.body['id']})"
    assert (made.status, made.headers["Location"]) == (201, f"{bc.company}/{path}")
    changed = await bc.patch(path, made.body["@odata.etag"], city="Boston")
    assert (changed.status, changed.body["city"]) == (200, "Boston")
    assert changed.body["@odata.etag"] != made.body["@odata.etag"]
    deleted = await bc.delete(path, changed.body["@odata.etag"])
    assert (deleted.status, deleted.body) == (204, "")
    assert (await bc.get(path)).code == "Internal_RecordNotFound"


@pytest.mark.parametrize(
    ("method", "path"), [("PATCH", "items"), ("DELETE", "items"), ("PUT", "customers")]
)
async def test_a_verb_that_does_not_fit_is_405(bc, method, path):
    reply = await bc.call(method, path, body={})
    assert (reply.status, reply.code) == (405, "BadRequest_MethodNotAllowed")
    assert f"'{method}' requests for '{path}' of EdmType 'Collection'" in reply.message


async def test_what_is_only_read_takes_no_write(bc):
    assert (await bc.post("accounts", number="1")).status == 405
    assert (await bc.call("POST", "companies", at=bc.api, body={})).status == 405


async def test_an_id_may_be_given_once(bc):
    id = "11111111-2222-3333-4444-555555555555"
    assert (await bc.post("customers", displayName="Mine", id=id)).body["id"] == id
    again = await bc.post("customers", displayName="Mine too", id=id)
    assert again.code == "Internal_EntityWithSameKeyExists"


async def test_lines_are_made_with_their_document(bc):
    item = await bc.one("items", number="1896-S")
    lines = [{"itemId": item["id"], "quantity": 2}]
    made = await bc.post("salesInvoices", customerNumber="10000", salesInvoiceLines=lines)
    assert (made.status, made.body["totalAmountExcludingTax"]) == (201, 2001.6)
    found = await bc.rows(f"salesInvoices({made.body['id']})/salesInvoiceLines")
    assert [(line["sequence"], line["description"]) for line in found] == [(10000, "ATHENS Desk")]


async def test_a_document_with_a_wrong_line_is_not_made_at_all(bc):
    before = (await bc.get("salesInvoices/$count")).body
    lines = [{"lineObjectNumber": "1896-S"}, {"lineObjectNumber": "NOPE"}]
    made = await bc.post("salesInvoices", customerNumber="10000", salesInvoiceLines=lines)
    assert made.code == "Internal_InvalidTableRelation"
    assert (await bc.get("salesInvoices/$count")).body == before


# §4 concurrency

ETAGS = [
    (None, 400, "BadRequest_InvalidToken"),
    ("nonsense", 400, "BadRequest_InvalidToken"),
    (STALE, 409, "Request_EntityChanged"),
]


@pytest.mark.parametrize(("etag", "status", "code"), ETAGS)
async def test_a_change_needs_the_etag_of_what_is_there(bc, etag, status, code):
    path = f"customers({(await bc.one('customers', number='10000'))['id']})"
    for reply in (await bc.patch(path, etag, city="X"), await bc.delete(path, etag)):
        assert (reply.status, reply.code) == (status, code)


async def test_an_etag_in_the_body_does_not_count(bc):
    row = await bc.one("customers", number="10000")
    given = {"@odata.etag": row["@odata.etag"], "city": "X"}
    reply = await bc.call("PATCH", f"customers({row['id']})", body=given)
    assert reply.code == "BadRequest_InvalidToken"


async def test_a_star_overwrites_without_a_check(bc):
    row = await bc.one("customers", number="10000")
    assert (await bc.patch(f"customers({row['id']})", "*", city="X")).status == 200


async def test_a_line_changes_the_etag_of_its_document(bc):
    made = (await bc.post("salesInvoices", customerNumber="10000")).body
    await bc.post(f"salesInvoices({made['id']})/salesInvoiceLines", lineObjectNumber="1896-S")
    stale = await bc.patch(f"salesInvoices({made['id']})", made["@odata.etag"], shipToName="X")
    assert stale.status == 409


# the demo data, as docs/business-central.md tells it

COUNTS = {"customers": 28, "vendors": 25, "items": 30, "salesInvoices": 40, "salesOrders": 26}


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
async def test_the_demo_company_is_as_large_as_the_page_says(bc, name, count):
    assert (await bc.get(f"{name}/$count")).body == str(count)


async def test_what_customers_owe_is_what_is_open(bc):
    open_ones = await bc.rows("salesInvoices", filter="status eq 'Open'")
    for customer in await bc.rows("customers"):
        own = [one for one in open_ones if one["customerId"] == customer["id"]]
        assert customer["balanceDue"] == pytest.approx(sum(one["remainingAmount"] for one in own))
