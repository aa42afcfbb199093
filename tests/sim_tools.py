"""A tool box in the test for talking to the conversational simulator: tasks, and a small ERP.

The tools have the names and result shapes of the ones that ship, so that a dialogue can be
played on either.
"""

import json
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from turnlog.contrib.demo import calculate
from turnlog.errors import ToolError
from turnlog.simulator import (
    Reply,
    Text,
    Thinking,
    ToolCall,
)
from turnlog.simulator.conversation import answer
from turnlog.simulator.stream import message

TODAY = date(2026, 11, 16)  # a Monday
STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
STATUS = {"type": "string", "enum": ["all", "pending", "completed"]}
LINES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"item_id": STRING, "quantity": NUMBER, "unit_price": NUMBER},
        "required": ["item_id", "quantity"],
    },
}


def spec(name: str, about: str, required: str = "", /, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return {"name": name, "description": about, "input_schema": schema}


# fmt: off
TASK_TOOLS = [
    spec("add_task", "Add a task for the user.", "title", title=STRING, description=STRING),
    spec("list_tasks", "List the user's tasks.", "", status=STATUS),
    spec("update_task", "Change the title or description of a task.", "task_id",
         task_id=INTEGER, title=STRING, description=STRING),
    spec("complete_task", "Mark a task as completed.", "task_id", task_id=INTEGER),
    spec("delete_task", "Delete a task.", "task_id", task_id=INTEGER),
]
ERP_TOOLS = [
    spec("list_all_entities", "List all kinds of entities in Business Central."),
    spec("find_customer", "Find customers by name.", "query", query=STRING),
    spec("get_customer", "Get one customer by number.", "customer_number", customer_number=STRING),
    spec("list_customers", "List the customers.", "", limit=INTEGER),
    spec("get_item", "Get one item by number.", "item_number", item_number=STRING),
    spec("find_item", "Find items by name.", "query", query=STRING),
    spec("create_customer", "Create a customer.", "display_name", display_name=STRING,
         email=STRING, phone_number=STRING, city=STRING),
    spec("update_customer", "Update fields of a customer.", "customer_id", customer_id=STRING,
         display_name=STRING, email=STRING, phone_number=STRING, city=STRING),
    spec("create_sales_invoice", "Create a draft sales invoice with lines.", "customer_id lines",
         customer_id=STRING, lines=LINES, due_date={"type": "string", "format": "date"}),
    spec("post_sales_invoice", "Post a draft sales invoice.", "invoice_id", invoice_id=STRING),
    spec("list_sales_orders", "List the sales orders.", "", status={**STRING,
         "enum": ["Draft", "Open"]}),
    spec("list_sales_invoices", "List the sales invoices."),
    spec("create_sales_order", "Create a sales order.", "customer_id lines",
         customer_id=STRING, lines=LINES),
]
OTHER_TOOLS = [
    spec("current_time", "The current date and time in UTC."),
    spec("calculate", "Compute an arithmetic expression of numbers, + - * / and brackets.",
         "expression", expression=STRING),
    spec("get_weather", "The weather in a city.", "city", city=STRING, days=INTEGER,
         unit={**STRING, "enum": ["celsius", "fahrenheit"]}),
    spec("send_email", "Send an email.", "recipient subject", recipient=STRING, subject=STRING),
]
HAND_OFFS = [
    spec("transfer_to_erp", "Customers, items, invoices and orders in Business Central."),
    spec("transfer_to_tasks", "The user's to-do list."),
    spec("transfer_to_knowledge", "Questions about documents.", "question", question=STRING),
]
ALL_TOOLS = [*TASK_TOOLS, *ERP_TOOLS, *OTHER_TOOLS]
CUSTOMERS = [
    {"id": "c-1", "number": "10000", "displayName": "Adatum Corporation", "city": "Atlanta",
     "phoneNumber": "555-0100", "balanceDue": 1200.5},
    {"id": "c-2", "number": "20000", "displayName": "Trey Research", "city": "Chicago",
     "phoneNumber": "555-0200", "balanceDue": 0.0},
]
ITEMS = [
    {"id": "i-1", "number": "1896-S", "displayName": "ATHENS Desk", "unitPrice": 1000.8},
    {"id": "i-2", "number": "1900-S", "displayName": "PARIS Guest Chair", "unitPrice": 192.8},
    {"id": "i-3", "number": "1928-S", "displayName": "AMSTERDAM Lamp", "unitPrice": 54.9},
]
# fmt: on


class Failed(Exception):
    """What a tool says when it fails."""


@dataclass
class Box:
    """The state that the tools work on, and what they were asked."""

    tasks: list[dict[str, Any]] = field(default_factory=list)
    invoices: list[dict[str, Any]] = field(default_factory=list)
    customers: list[dict[str, Any]] = field(default_factory=lambda: [*CUSTOMERS])
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)  # tool -> the error that it always gives

    def run(self, name: str, args: dict[str, Any]) -> Any:
        self.calls.append((name, args))
        if name in self.broken:
            raise Failed(self.broken[name])
        if name.startswith("transfer_to_"):
            return f"Successfully transferred to {name.removeprefix('transfer_to_')}"
        return getattr(self, f"_{name}")(**args)

    def _task(self, task_id: int) -> dict[str, Any]:
        found = [task for task in self.tasks if task["id"] == task_id]
        if not found:
            raise Failed(f"There is no task {task_id}.")
        return found[0]

    def _add_task(self, title, description=""):
        task = {"id": max([0, *(t["id"] for t in self.tasks)]) + 1, "title": title}
        self.tasks.append(task | {"completed": False})
        return self.tasks[-1]

    def _list_tasks(self, status="all"):
        wanted = {"all": (True, False), "completed": (True,), "pending": (False,)}[status]
        return [task for task in self.tasks if task["completed"] in wanted]

    def _update_task(self, task_id, **changes):
        self._task(task_id).update(changes)
        return self._task(task_id)

    def _complete_task(self, task_id):
        return self._update_task(task_id, completed=True)

    def _delete_task(self, task_id):
        task = self._task(task_id)
        self.tasks.remove(task)
        return {"id": task_id, "deleted": True}

    def _list_all_entities(self):
        return ["customers", "items", "salesInvoices", "salesOrders", "vendors"]

    def _find_customer(self, query):
        return {"value": [c for c in self.customers if query.lower() in c["displayName"].lower()]}

    def _list_customers(self, limit=100):
        return {"value": self.customers[:limit], "count": len(self.customers)}

    def _get_customer(self, customer_number):
        found = [c for c in self.customers if c["number"] == customer_number]
        if not found:
            raise Failed(f"Customer {customer_number} was not found.")
        return found[0]

    def _create_customer(self, display_name, **more):
        made = {"id": "c-9", "number": "90000", "displayName": display_name, **more}
        self.customers.append(made)
        return made

    def _update_customer(self, customer_id, **changes):
        (found,) = [c for c in self.customers if c["id"] == customer_id]
        return found | changes

    def _find_item(self, query):
        return {"value": [i for i in ITEMS if query.lower() in i["displayName"].lower()]}

    def _create_sales_invoice(self, customer_id, lines, due_date=None):
        made = {"id": f"inv-{len(self.invoices) + 1}", "number": "1001", "status": "Draft"}
        total = sum(
            next(i["unitPrice"] for i in ITEMS if i["id"] == line["item_id"]) * line["quantity"]
            for line in lines
        )
        self.invoices.append(made | {"totalAmountIncludingTax": round(total, 2), "lines": lines})
        return self.invoices[-1]

    def _create_sales_order(self, customer_id, lines):
        return {"id": "o-1", "number": "S-1", "status": "Draft"}

    def _post_sales_invoice(self, invoice_id):
        (found,) = [i for i in self.invoices if i["id"] == invoice_id]
        found["status"] = "Open"
        return found

    def _list_sales_invoices(self):
        return self.invoices

    def _list_sales_orders(self, status=None):
        return []

    def _send_email(self, recipient, subject):
        return "sent"

    def _current_time(self):
        return {"utc": "2026-11-16T09:30:00+00:00"}

    def _calculate(self, expression):
        return calculate.function(expression)

    def _get_weather(self, city, days=1, unit="celsius"):
        return f"Sunny in {city}, 21 °C."


@dataclass
class Chat:
    """A conversation with the simulator: every request goes through the API's own rules."""

    tools: list[dict[str, Any]] = field(default_factory=lambda: ALL_TOOLS)
    box: Box = field(default_factory=Box)
    body: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    betas: str = ""

    def request(self) -> dict[str, Any]:
        body = {"model": "claude-sonnet-4-6", "max_tokens": 4000, "messages": self.messages}
        return body | ({"tools": self.tools} if self.tools else {}) | self.body

    def next(self) -> Reply:
        return answer(self.request(), self.betas, TODAY)

    def say(self, content: Any) -> str:
        """One turn, tools included; the text of its last answer."""
        self.messages.append({"role": "user", "content": content})
        for _ in range(12):
            reply = self.next()
            whole = message(reply, self.request())
            self.messages.append({"role": "assistant", "content": whole["content"]})
            self.thoughts += [b.text for b in reply.blocks if isinstance(b, Thinking)]
            calls = [block for block in whole["content"] if block["type"] == "tool_use"]
            if not calls:
                return "".join(block.text for block in reply.blocks if isinstance(block, Text))
            results = [self._result(call) for call in calls]
            self.messages.append({"role": "user", "content": results})
        raise AssertionError("the turn does not end")

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": call["id"]}
        try:
            value = self.box.run(call["name"], call["input"])
        except (Failed, ToolError) as failed:
            return block | {"content": str(failed), "is_error": True}
        return block | {"content": value if isinstance(value, str) else json.dumps(value)}

    def called(self) -> list[tuple[str, dict[str, Any]]]:
        """What was called since this was last asked."""
        made, self.box.calls = self.box.calls, []
        return made


def tasks(*titles: str) -> Box:
    """A box with these tasks; their ids are 11, 12, ...: not their places."""
    return Box([{"id": 11 + at, "title": t, "completed": False} for at, t in enumerate(titles)])


def first_calls(question: str, tools: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The calls of the first answer to a question."""
    reply = Chat(tools, messages=[{"role": "user", "content": question}]).next()
    return [(block.name, block.input) for block in reply.blocks if isinstance(block, ToolCall)]
