"""The ERP tools, run as the server runs them, against a sandbox over real HTTP."""

from contextlib import asynccontextmanager
from types import MappingProxyType

from turnlog.contrib.business_central import BusinessCentral, Place, business_central_tools
from turnlog.contrib.business_central.sandbox import Sandbox
from turnlog.contrib.business_central.sandbox.entities import ENTITIES
from turnlog.events.kinds import ToolUse
from turnlog.tools.approval import Policy
from turnlog.tools.runner import ToolRunner
from turnlog.tools.tool import ToolContext

COMPANY = "CRONUS USA, Inc."
LINES = [{"item_number": "1896-S", "quantity": 2}, {"item_number": "1928-s", "quantity": 5}]
INVOICE = {"customer_number": "10000", "customer_name": "Adatum Corporation", "lines": LINES}


def context_for(tool_use_id):
    return ToolContext(
        user_id="alice",
        session_id="s",
        turn_id="t",
        tool_use_id=tool_use_id,
    )


def place_of(sandbox, url, **changed):
    known = {"tenant": sandbox.tenant, "client_id": sandbox.client_id, "company": COMPANY}
    known |= {"client_secret": sandbox.client_secret, "base_url": url, "auth_url": url}
    return Place(**known | changed)


class Erp:
    """Tools by name."""

    def __init__(self, sandbox, bc):
        self.sandbox, self.bc = sandbox, bc
        self.tools = {tool.name: tool for tool in business_central_tools(bc)}
        allowed = Policy(agent="never")  # asking people is tested elsewhere
        self._runner = ToolRunner(list(self.tools.values()), context_for, policy=allowed)

    async def result(self, name, /, id="toolu_1", **args):
        call = ToolUse(tool_use_id=id, tool_name=name, args=args)
        batches = [batch async for batch in self._runner.run([call])]
        return batches[-1][-1]

    async def does(self, name, /, id="toolu_1", **args):
        """What the tool gives; it has to succeed."""
        result = await self.result(name, id, **args)
        assert result.success, result.error
        return result.result

    async def says(self, name, /, id="toolu_1", **args):
        """What is told to the model; it has to fail."""
        result = await self.result(name, id, **args)
        assert not result.success, result.result
        return result.error

    async def reconciled(self, name, /, id="toolu_1", **args):
        context = self._runner._context(ToolUse(tool_use_id=id, tool_name=name, args=args))
        return await self.tools[name].reconcile(args, context)

    def row(self, entity, **wanted):
        """A row as the sandbox has it, past all interfaces."""
        return self.sandbox.service.companies[0].find(ENTITIES[entity], **wanted)

    def drafts(self):
        rows = self.sandbox.service.companies[0].rows(ENTITIES["salesInvoice"])
        return [row for row in rows if row["status"] == "Draft"]


@asynccontextmanager
async def connected(changed=MappingProxyType({}), **how):
    sandbox = Sandbox(**how)
    async with sandbox.serve() as url, BusinessCentral(place_of(sandbox, url, **changed)) as bc:
        yield Erp(sandbox, bc)


async def draft(erp, **changed):
    return await erp.does("create_sales_invoice", **INVOICE | changed)


def posting(invoice):
    return {
        "invoice_id": invoice["id"],
        "number": invoice["number"],
        "customer_name": invoice["customerName"],
        "total_including_tax": invoice["totalAmountIncludingTax"],
        "currency_code": invoice["currencyCode"],
    }


async def reading(erp, what, number):
    """What get_… gives, as the arguments that a change of it needs."""
    row = await erp.does(f"get_{what}", number=number)
    return {"number": number, "current_name": row["displayName"], "etag": row["etag"]}
