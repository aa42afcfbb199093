"""A served app for tests in a browser: an assistant, an ERP agent, a Claude with a script."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from web.browser import tab

from turnlog.app import Turnlog
from turnlog.errors import ToolError
from turnlog.ports import Agent
from turnlog.simulator import Reply, SimulatedClaude, Text, Thinking, ToolCall
from turnlog.testing.apps import scripted_app
from turnlog.testing.made_files import pdf
from turnlog.testing.tabs import serve_sockets
from turnlog.tools.tool import tool

USER = "local"
CUSTOMERS = [
    {"number": "10000", "name": "Adatum Corporation", "city": "Atlanta", "balance": 0.0},
    {"number": "40000", "name": "Alpine Ski House", "city": "Denver", "balance": 4211.5},
    {"number": "C00030", "name": "Driftwood Hotels", "city": "Galveston", "balance": 8452.31},
]
MANY = [{"number": n, "name": f"Customer {n}", "city": "Lyon"} for n in range(412)]


@dataclass
class Office:
    url: str
    app: Turnlog
    sim: SimulatedClaude
    go: asyncio.Event
    made: list = field(default_factory=list)

    async def session(self, title="Customer for the Lyon branch"):
        return (await self.app.create_session(USER, title=title)).id

    async def terms(self, session, folder):
        """The id of the file that answers cite: what they say stands on its third page."""
        path = folder / "terms-2026.pdf"
        path.write_bytes(pdf("Terms of 2026.", "Prices are net.", CITED["cited_text"]))
        return (await self.app.files.add(USER, session, path)).id


def _tools(go, made):
    @tool(writes=False)
    async def search_customers(city: str = "", many: bool = False) -> list[dict]:
        """Search the customers."""
        return MANY if many else CUSTOMERS

    @tool(writes=False)
    async def list_payment_terms() -> list[dict]:
        """The payment terms."""
        return [{"code": "30 DAYS", "days": 30}, {"code": "CASH", "days": 0}]

    @tool(writes=False)
    async def fail(why: str) -> str:
        """Always fails."""
        raise ToolError(why)

    @tool(writes=False)
    async def wait() -> str:
        """Waits until the test lets it go."""
        await go.wait()
        return "went"

    @tool(title="Create a customer in Business Central", describe="create {name} in {city}")
    async def create_customer(
        name: str, city: str, credit_limit: float, blocked: bool = False
    ) -> dict:
        """Create a customer."""
        made.append((name, city, credit_limit))
        return {"number": "C00120", "name": name, "city": city, "creditLimit": credit_limit}

    @tool(title="Delete invoices", describe="delete invoices {numbers}")
    async def delete_invoices(numbers: list[str]) -> str:
        """Delete invoices."""
        made.append(tuple(numbers))
        return "deleted"

    return [search_customers, list_payment_terms, fail, wait, create_customer, delete_invoices]


@asynccontextmanager
async def office(*entries, more=(), approver=None, serve=serve_sockets, **settings):
    """`more`: further tools of the assistant; `approver`: who may decide there."""
    go, made = asyncio.Event(), []
    tools = _tools(go, made)
    agents = [
        Agent(
            "assistant",
            prompt="P",
            description="Answers and routes.",
            tools=[*tools, *more],
            approver=approver,
        ),
        Agent("erp", prompt="P", description="Customers, items, invoices.", tools=tools[:2]),
    ]
    async with (
        scripted_app(*entries, agents=agents, **settings) as (app, sim),
        serve(app) as url,
    ):
        yield Office(url, app, sim, go, made)
        go.set()


# What a scripted Claude says.
CITED = {
    "type": "page_location",
    "cited_text": "Invoices are payable within 30 days net.",
    "document_index": 0,
    "document_title": "terms-2026.pdf",
    "start_page_number": 3,
    "end_page_number": 4,
}
PARALLEL = Reply(
    Thinking("The user wants to know whether a customer exists in Lyon."),
    "I will look for customers in Lyon and read the payment terms.",
    ToolCall("search_customers", {"city": "Lyon"}),
    ToolCall("list_payment_terms"),
)
CREATE = ToolCall(
    "create_customer", {"name": "Atelier Rhône", "city": "Lyon", "credit_limit": 30000}
)
ANSWER = Reply(
    Text("There is no customer in Lyon yet. The default terms are **30 days net**", (CITED,)),
    Text(", so I will use those for the new card."),
    CREATE,
)
MARKDOWN = """\
Here is the summary you asked for.

| Customer | City | Balance |
|:---|:---|---:|
| Adatum Corporation | Atlanta | 0.00 |
| Driftwood Hotels | Galveston | 8,452.31 |

1. The largest balance is that of **Driftwood Hotels**.
2. Nothing is overdue; see [the terms](https://example.com/terms).

```python
def overdue(invoices, today):
    \"\"\"Those that should have been paid.\"\"\"
    return [each for each in invoices if each.due < today]  # none
```
"""


@asynccontextmanager
async def opened(browser, *says, **settings):
    """A tab at a new session of an office."""
    async with office(*says, **settings) as here, tab(browser, here.url) as one:
        one.session = await here.session()
        await one.go(f"/s/{one.session}")
        await one.page.locator('[data-state="live"]').wait_for()
        yield here, one
