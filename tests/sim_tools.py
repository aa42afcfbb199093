"""A tool box in the test for talking to the conversational simulator: tasks, and a small ERP.

The tools have the names, parameters and result shapes of the ones that ship.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from turnlog.contrib.demo import calculate
from turnlog.errors import ToolError
from turnlog.simulator import Reply, Text, Thinking
from turnlog.simulator.conversation import answer
from turnlog.simulator.stream import message

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
ARRAY = {"type": "array"}


def spec(name: str, required: str = "", optional: str = "", /, **other: Any) -> dict[str, Any]:
    """A tool. Its parameters are strings, but for those that `other` gives a schema."""
    properties = dict.fromkeys([*required.split(), *optional.split()], STRING) | other
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return {"name": name, "description": name, "input_schema": schema}


# fmt: off
TASK_TOOLS = [
    spec("add_task", "title", "description"),
    spec("list_tasks", "", "status"),
    spec("update_task", "id", "title description", id=INTEGER),
    spec("complete_task", "id", id=INTEGER),
    spec("delete_task", "id", id=INTEGER),
]
ERP_TOOLS = [
    spec("list_all_entities"),
    spec("find_customer", "", "text", limit=INTEGER),
    spec("get_customer", "number"),
    spec("create_customer", "name", "city email"),
    spec("delete_customer", "number current_name etag"),
    spec("find_item", "", "text", limit=INTEGER),
    spec("get_item", "number"),
    spec("find_sales_invoice", "", "customer_number status"),
    spec("get_sales_invoice", "number"),
    spec("create_sales_invoice", "customer_number customer_name lines", "", lines=ARRAY),
    spec("post_sales_invoice",
         "invoice_id number customer_name total_including_tax currency_code etag",
         "", total_including_tax=NUMBER),
]
OTHER_TOOLS = [
    spec("current_time"),
    spec("calculate", "expression"),
    spec("get_weather", "city", "unit"),
    spec("refund_payment", "payment_id", "amount"),
    spec("send_email", "recipient subject"),
]
HAND_OFFS = [
    spec("transfer_to_erp"),
    spec("transfer_to_tasks"),
    spec("transfer_to_knowledge", "reason"),
]
ALL_TOOLS = [*TASK_TOOLS, *ERP_TOOLS, *OTHER_TOOLS]
CUSTOMERS = [
    {"number": "10000", "displayName": "Adatum Corporation", "city": "Atlanta",
     "balanceDue": 1200.5},
    {"number": "20000", "displayName": "Trey Research", "city": "Chicago", "balanceDue": 0},
    {"number": "30000", "displayName": "Trey Rentals", "city": "Boston", "balanceDue": 0},
]
ITEMS = [
    {"number": "1896-S", "displayName": "ATHENS Desk", "unitPrice": 1000.8, "inventory": 4},
    {"number": "1900-S", "displayName": "PARIS Guest Chair", "unitPrice": 192.8, "inventory": 0},
    {"number": "1928-S", "displayName": "AMSTERDAM Lamp", "unitPrice": 54.9, "inventory": 60},
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
        try:
            return getattr(self, f"_{name}")(**args)
        except (AttributeError, TypeError) as error:
            raise Failed(f"{name} cannot be called so: {error}") from None

    def _task(self, id: int) -> dict[str, Any]:
        found = [task for task in self.tasks if task["id"] == id]
        if not found:
            raise Failed(f"There is no task {id}.")
        return found[0]

    def _add_task(self, title, description=""):
        task = {"id": max([0, *(t["id"] for t in self.tasks)]) + 1, "title": title}
        self.tasks.append(task | {"completed": False})
        return self.tasks[-1]

    def _list_tasks(self, status="all"):
        wanted = {"all": (True, False), "completed": (True,), "pending": (False,)}[status]
        return [task for task in self.tasks if task["completed"] in wanted]

    def _update_task(self, id, **changes):
        self._task(id).update(changes)
        return self._task(id)

    def _complete_task(self, id):
        return self._update_task(id, completed=True)

    def _delete_task(self, id):
        task = self._task(id)
        self.tasks.remove(task)
        return {"id": id, "deleted": True}

    def _list_all_entities(self):
        return {"entities": ["customers", "items", "salesInvoices"]}

    def _find_customer(self, text=""):
        return _page("customers", self.customers, text)

    def _get_customer(self, number):
        return _with_number("customer", self.customers, number) | {"etag": 'W/"7"'}

    def _create_customer(self, **fields):
        made = {"number": "C0001", "displayName": fields.pop("name"), **fields}
        self.customers = [*self.customers, made]
        return made

    def _delete_customer(self, number, current_name, etag):
        self.customers = [row for row in self.customers if row["number"] != number]
        return {"number": number, "deleted": True}

    def _find_item(self, text=""):
        return _page("items", ITEMS, text)

    def _get_item(self, number):
        return _with_number("item", ITEMS, number)

    def _find_sales_invoice(self, status=None):
        return _page("invoices", [i for i in self.invoices if status in (None, i["status"])], "")

    def _get_sales_invoice(self, number):
        return _with_number("invoice", self.invoices, number)

    def _create_sales_invoice(self, customer_number, customer_name, lines):
        prices = {item["number"]: item["unitPrice"] for item in ITEMS}
        total = round(sum(prices[line["item_number"]] * line["quantity"] for line in lines), 2)
        number = str(1001 + len(self.invoices))
        made = {"id": f"inv-{number}", "number": number, "customerName": customer_name}
        made |= {"status": "Draft", "totalAmountIncludingTax": total, "currencyCode": "USD"}
        made["etag"] = f"E{number}"
        self.invoices.append(made | {"lines": lines})
        return self.invoices[-1]

    def _post_sales_invoice(self, number, **confirmed):
        invoice = _with_number("invoice", self.invoices, number)
        invoice |= {"number": f"P{number}", "status": "Open"}
        return invoice

    def _current_time(self):
        return {"utc": "2026-11-16T09:30:00+00:00"}

    def _calculate(self, expression):
        return calculate.function(expression)

    def _get_weather(self, city, unit="celsius"):
        return f"Sunny in {city}, 21 °C."

    def _refund_payment(self, payment_id, amount=None):
        return {"payment": payment_id, "refunded": 1.125}


def _page(name: str, rows: list[dict[str, Any]], text: str) -> dict[str, Any]:
    found = [row for row in rows if text.lower() in row.get("displayName", "").lower()]
    return {name: found, "count": len(found), "hasMore": False}


def _with_number(name: str, rows: list[dict[str, Any]], number: str) -> dict[str, Any]:
    found = [row for row in rows if row["number"] == number]
    if not found:
        raise Failed(f"There is no {name} {number}.")
    return found[0]


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
        return answer(self.request(), self.betas)

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
