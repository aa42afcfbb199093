"""API v2.0 of the sandbox: addresses, envelope, verbs, etags. § is the section of our facts."""

import base64
import json
import re
from pathlib import Path

import pytest
from recorded import beside_the_project

from turnlog.contrib.business_central.sandbox.schema.entities import COMPANY, ENTITIES
from turnlog.testing.business_central import odata_client

# The documented fields: our own list always, and the whole schema where it is beside the project.
OURS = Path(__file__).with_name("documented_fields.json")
SCHEMAS = [OURS, *(p for p in beside_the_project("business-central", "schema.json") if p.exists())]
STALE = 'W/"JzIwOzEyMzsn"'


@pytest.fixture
async def bc():
    async with odata_client() as client:
        yield client


# §1 addressing


async def test_the_service_lists_its_sets_and_companies(bc):
    names = [each["name"] for each in (await bc.get("", at=bc.api)).body["value"]]
    assert {"companies", "customers", "salesInvoices", "unitsOfMeasure"} <= set(names)
    companies = await bc.rows("companies", at=bc.api)
    assert [each["name"] for each in companies] == ["CRONUS USA, Inc.", "My Company"]


async def test_the_tenant_may_be_left_out(bc):
    at = bc.api.replace("/sandbox/", "/")
    assert len(await bc.rows("companies", at=at)) == 2


async def test_a_header_or_the_query_selects_the_company(bc):
    chosen = await bc.call("GET", "customers", at=bc.api, headers={"Company": "My Company"})
    assert chosen.body["value"] == []
    at = f"{bc.api}/customers?company=My%20Company"
    assert (await bc.get("", at=at)).body["value"] == []
    assert len(await bc.rows("customers", at=bc.api)) == 28


async def test_the_metadata_names_every_entity(bc):
    metadata = (await bc.get("$metadata", at=bc.api)).body
    assert all(f'EntitySet Name="{entity.set}"' in metadata for entity in ENTITIES.values())


async def test_an_unknown_environment_is_answered_with_the_gateways_xml(bc):
    reply = await bc.get("companies", at=bc.api.replace("Production", "Nope"))
    assert (reply.status, "NoEnvironment" in reply.body) == (404, True)


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda path: path.stem)
@pytest.mark.parametrize("entity", [COMPANY, *ENTITIES.values()], ids=lambda entity: entity.name)
def test_fields_and_actions_are_those_of_the_documentation(entity, schema):
    documented = json.loads(schema.read_text())["entities"][entity.name]
    properties = {each["name"]: each for each in documented["properties"]}
    assert set(entity.fields) <= set(properties)
    assert set(entity.actions) <= set(documented["bound_actions"])
    for name, field in entity.fields.items():
        if "values" in properties[name]:
            assert list(field.options) == properties[name]["values"]


# §2 envelope


async def test_an_etag_comes_first_and_looks_like_the_real_one(bc):
    row = (await bc.rows("customers", top=1))[0]
    assert next(iter(row)) == "@odata.etag"
    inside = base64.b64decode(re.fullmatch(r'W/"(.+)"', row["@odata.etag"])[1]).decode()
    assert re.fullmatch(r"'20;\d+1;00;'", inside)


async def test_contexts_and_headers_are_those_of_odata(bc):
    page = await bc.get("customers")
    assert page.body["@odata.context"].endswith(f"({bc.company.split('(')[1]}/customers")
    assert page.headers["OData-Version"] == "4.0"
    assert "odata.metadata=minimal" in page.headers["Content-Type"]
    row = await bc.get(f"customers({page.body['value'][0]['id']})")
    assert row.body["@odata.context"].endswith("/customers/$entity")


async def test_empty_values_and_options_are_written_as_on_the_wire(bc):
    made = (await bc.post("customers", displayName="Empty Ltd")).body
    assert made["paymentTermsId"] == "00000000-0000-0000-0000-000000000000"
    assert (made["blocked"], made["addressLine1"], made["creditLimit"]) == ("_x0020_", "", 0)
    service = await bc.one("items", number="1965-W")
    assert service["type"] == "Non_x002D_Inventory"


async def test_two_sandboxes_have_the_same_rows_and_share_none(bc):
    async with odata_client() as other:
        assert await bc.rows("salesInvoices") == await other.rows("salesInvoices")
        first, *rest = await bc.rows("customers")
        await other.patch(f"customers({first['id']})", "*", city="Elsewhere")
        await other.delete(f"customers({rest[-1]['id']})")
        assert await bc.rows("customers") == [first, *rest]
        here, there = [await each.post("customers", displayName="New") for each in (bc, other)]
        assert (here.status, here.body["id"]) == (201, there.body["id"])


# §3 verbs


async def test_a_row_can_be_created_changed_and_deleted(bc):
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


async def test_a_read_only_entity_refuses_writes(bc):
    assert (await bc.post("accounts", number="1")).status == 405
    assert (await bc.call("POST", "companies", at=bc.api, body={})).status == 405


async def test_a_client_may_choose_an_unused_id(bc):
    id = "11111111-2222-3333-4444-555555555555"
    assert (await bc.post("customers", displayName="Mine", id=id)).body["id"] == id
    again = await bc.post("customers", displayName="Mine too", id=id)
    assert again.code == "Internal_EntityWithSameKeyExists"


async def test_a_document_can_be_created_with_its_lines(bc):
    item = await bc.one("items", number="1896-S")
    lines = [{"itemId": item["id"], "quantity": 2}]
    made = await bc.post("salesInvoices", customerNumber="10000", salesInvoiceLines=lines)
    assert (made.status, made.body["totalAmountExcludingTax"]) == (201, 2001.6)
    rows = await bc.rows(f"salesInvoices({made.body['id']})/salesInvoiceLines")
    assert [(line["sequence"], line["description"]) for line in rows] == [(10000, "ATHENS Desk")]


async def test_lines_are_listed_by_the_sequence_that_a_client_gives_them(bc):
    lines = [{"lineObjectNumber": "1896-S", "sequence": n} for n in (20_000, 10_000)]
    made = await bc.post("salesInvoices", customerNumber="10000", salesInvoiceLines=lines)
    rows = await bc.rows(f"salesInvoices({made.body['id']})/salesInvoiceLines")
    assert [line["sequence"] for line in rows] == [10_000, 20_000]


async def test_a_document_with_a_wrong_line_is_not_created(bc):
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
async def test_a_change_needs_the_current_etag(bc, etag, status, code):
    path = f"customers({(await bc.one('customers', number='10000'))['id']})"
    for reply in (await bc.patch(path, etag, city="X"), await bc.delete(path, etag)):
        assert (reply.status, reply.code) == (status, code)


async def test_an_etag_in_the_body_does_not_count(bc):
    row = await bc.one("customers", number="10000")
    values = {"@odata.etag": row["@odata.etag"], "city": "X"}
    reply = await bc.call("PATCH", f"customers({row['id']})", body=values)
    assert reply.code == "BadRequest_InvalidToken"


async def test_a_star_overwrites_any_version(bc):
    row = await bc.one("customers", number="10000")
    assert (await bc.patch(f"customers({row['id']})", "*", city="X")).status == 200


async def test_a_line_changes_the_etag_of_its_document(bc):
    made = (await bc.post("salesInvoices", customerNumber="10000")).body
    await bc.post(f"salesInvoices({made['id']})/salesInvoiceLines", lineObjectNumber="1896-S")
    stale = await bc.patch(f"salesInvoices({made['id']})", made["@odata.etag"], shipToName="X")
    assert stale.status == 409


# the demo data, as docs/business-central.md describes it

COUNTS = {"customers": 28, "vendors": 25, "items": 30, "salesInvoices": 40, "salesOrders": 26}


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
async def test_the_demo_company_has_as_many_rows_as_documented(bc, name, count):
    assert (await bc.get(f"{name}/$count")).body == str(count)


async def test_a_customers_balance_is_the_sum_of_open_invoices(bc):
    invoices = await bc.rows("salesInvoices", filter="status eq 'Open'")
    assert invoices
    for customer in await bc.rows("customers"):
        own = [row["remainingAmount"] for row in invoices if row["customerId"] == customer["id"]]
        assert customer["balanceDue"] == pytest.approx(sum(own))
