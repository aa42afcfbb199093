"""Sales invoices are posted as they were read and allowed, or not at all."""

import pytest

from turnlog.contrib.business_central.sandbox import Failure
from turnlog.testing.business_central import approval_of, erp_tools


@pytest.fixture
async def erp():
    async with erp_tools() as connection:
        yield connection


async def another_line(erp, invoice):
    """Somebody takes one of the lines out and puts another in, of the same price."""
    lines = f"salesInvoices({invoice['id']})/salesInvoiceLines"
    (old, *_) = (await erp.bc.find(lines, select=("id", "unitPrice", "quantity"), limit=9)).rows
    await erp.bc.delete(f"salesInvoiceLines({old['id']})", old["@odata.etag"])
    price = {"unitPrice": old["unitPrice"], "quantity": old["quantity"]}
    await erp.bc.create(lines, {"lineObjectNumber": "1900-S"} | price)


async def test_an_invoice_whose_lines_were_changed_is_not_posted_though_its_total_is_the_same(erp):
    invoice = await erp.draft()
    await another_line(erp, invoice)
    now = await erp.result("get_sales_invoice", number=invoice["number"])
    assert now["totalAmountIncludingTax"] == invoice["totalAmountIncludingTax"]
    assert "Somebody has changed" in await erp.error("post_sales_invoice", **approval_of(invoice))
    assert (await erp.result("post_sales_invoice", **approval_of(now)))["status"] == "Open"


async def test_an_invoice_that_is_changed_while_it_is_being_posted_is_not_posted(erp, monkeypatch):
    invoice, act = await erp.draft(), erp.bc.act

    async def too_late(*given):
        await another_line(erp, invoice)
        await act(*given)

    monkeypatch.setattr(erp.bc, "act", too_late)
    assert "Somebody has changed" in await erp.error("post_sales_invoice", **approval_of(invoice))
    assert erp.row("salesInvoice", id=invoice["id"])["status"] == "Draft"


async def test_a_posting_that_breaks_off_is_looked_up(erp):
    invoice = await erp.draft()
    erp.sandbox.fail(Failure(hang_up=True, done=True, method="POST", path="$batch"))
    assert (await erp.result("post_sales_invoice", **approval_of(invoice)))["status"] == "Open"
