"""A client that has lost the answer to its decision, or to a result, sends that again. It gets what
followed, and nothing runs twice.
"""

import asyncio

import pytest
from protocols.doors import frames

from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import is_problem, served
from turnlog.testing.office import office

PAY = [Reply("Sure.", ToolCall("pay", {"amount": 3})), Reply("Done.")]
ASKED = [{"id": "m", "role": "user", "content": "Go"}]
LOOK = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
TOOLS = [{"type": "function", **LOOK}]


# How "Go" is asked through each door: the request that answers what it asks, as often as one likes.


async def ui(http, approved=True):
    session = (await http.post("/api/sessions")).json()["id"]
    path = f"/api/sessions/{session}/ui-stream"
    message = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Go"}]}
    asked = frames(await http.post(path, json={"messages": [message]}))
    (name,) = [each["approvalId"] for each in asked if each["type"] == "tool-approval-request"]

    def answer(approved):
        part = {"state": "approval-responded", "approval": {"id": name, "approved": approved}}
        body = {"messages": [{"id": "a", "role": "assistant", "parts": [part]}]}
        return http.post(path, json=body)

    return answer


async def agui(http):
    body = {"threadId": "t", "runId": "r1", "messages": ASKED}
    (asked,) = frames(await http.post("/agui", json=body))[-1]["outcome"]["interrupts"]

    def answer(approved):
        payload = {"approved": approved}
        entry = {"interruptId": asked["id"], "status": "resolved", "payload": payload}
        body = {"threadId": "t", "runId": "r2", "messages": ASKED, "resume": [entry]}
        return http.post("/agui", json=body)

    return answer


async def responses(http):
    asked = (await http.post("/v1/responses", json={"input": "Go"})).json()

    def answer(approved):
        reply = {"type": "mcp_approval_response", "approve": approved,
                 "approval_request_id": asked["output"][-1]["id"]}  # fmt: skip
        body = {"input": [reply], "previous_response_id": asked["id"]}
        return http.post("/v1/responses", json=body)

    return answer


DOORS = pytest.mark.parametrize("door", [ui, agui, responses])


@DOORS
@pytest.mark.parametrize("approved", [True, False])
async def test_a_decision_that_is_sent_again_gets_what_followed(door, approved):
    async with office(*PAY) as bureau:
        answer = await door(bureau.http)
        one, two = await answer(approved), await answer(approved)
        assert (one.status_code, "Done." in one.text) == (200, True)
        assert told(two) == told(one)
        assert bureau.world.paid == ([("Bob", 3)] if approved else [])


@DOORS
async def test_a_decision_that_is_sent_twice_at_the_same_moment_is_taken_once(door):
    async with office(*PAY) as bureau:
        answer = await door(bureau.http)
        one, two = await asyncio.gather(answer(True), answer(True))
        assert (one.status_code, two.status_code) == (200, 200)
        assert told(two) == told(one)
        assert bureau.world.paid == [("Bob", 3)]


@DOORS
async def test_another_decision_is_refused_as_before(door):
    async with office(*PAY) as bureau:
        answer = await door(bureau.http)
        await answer(False)
        is_problem(await answer(True), 409, "already_decided")
        assert bureau.world.paid == []


def told(answer):
    """What it says, without the chunks, which are others when it is read from the log."""
    if "event-stream" not in answer.headers["content-type"]:
        return answer.json()
    cut = ("text-delta", "TEXT_MESSAGE_CONTENT")
    shown = [each for each in frames(answer) if each["type"] not in cut]
    for each in shown:
        each.pop("timestamp", None)
    text = "".join(each["delta"] for each in frames(answer) if each["type"] in cut)
    return shown, text


# Results of the client's functions. The model asks for two, one after the other.

CALLS = [Reply(ToolCall("look", {"at": at})) for at in ("ducks", "geese")]


class Responses:
    def __init__(self, http):
        self._http = http
        self._body = {"input": "Go", "tools": TOOLS}

    async def ask(self):
        told = (await self._http.post("/v1/responses", json=self._body)).json()
        assert "output" in told, told
        self._last = told
        return told

    def answer(self, value):
        (call,) = [each for each in self._last["output"] if each["type"] == "function_call"]
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": value}
        self._body |= {"input": [result], "previous_response_id": self._last["id"]}


class Stateless(Responses):
    """Sends all results since the question."""

    def answer(self, value):
        before = self._body["input"] if isinstance(self._body["input"], list) else []
        super().answer(value)
        self._body["input"] = [*before, *self._body["input"]]


class Completions:
    def __init__(self, http):
        self._http = http
        tools = [{"type": "function", "function": LOOK}]
        self._body = {"messages": [{"role": "user", "content": "Go"}], "tools": tools}

    async def ask(self):
        told = (await self._http.post("/v1/chat/completions", json=self._body)).json()
        self._last = told["choices"][0]["message"]
        return told

    def answer(self, value):
        (call,) = self._last["tool_calls"]
        result = {"role": "tool", "tool_call_id": call["id"], "content": value}
        self._body["messages"] = [*self._body["messages"], self._last, result]


class Agui:
    def __init__(self, http):
        self._http = http
        self._body = {"threadId": "t", "runId": "r0", "tools": [LOOK], "messages": ASKED}

    async def ask(self):
        answer = await self._http.post("/agui", json=self._body)
        self._last = frames(answer)
        return told(answer)

    def answer(self, value):
        (call,) = [e["toolCallId"] for e in self._last if e["type"] == "TOOL_CALL_START"]
        result = {"id": call, "role": "tool", "toolCallId": call, "content": value}
        messages = [*self._body["messages"], result]
        self._body |= {"runId": f"r{len(messages)}", "messages": messages}


@pytest.mark.parametrize("door", [Responses, Stateless, Completions, Agui])
async def test_a_result_that_is_sent_again_gets_what_followed(door):
    async with served(*CALLS, Reply("Both seen.")) as server:
        program = door(server.http)
        await program.ask()
        program.answer("quack")
        second = await program.ask()
        assert await program.ask() == second  # it asks for the second one, and for no other
        program.answer("honk")
        last = await program.ask()
        assert "Both seen." in str(last) and await program.ask() == last
        assert len(server.sim.requests) == 3


async def test_a_result_that_is_sent_again_while_the_turn_goes_on_joins_it():
    script = [CALLS[0], Reply(ToolCall("wait")), Reply("Seen.")]
    async with served(*script) as server:
        program = Completions(server.http)
        await program.ask()
        program.answer("quack")
        body = program._body | {"stream": True}
        path = "/v1/chat/completions"
        async with server.http.stream("POST", path, json=body) as lost:
            await anext(lost.aiter_bytes())
        server.go.set()
        told = await program.ask()
        assert told["choices"][0]["message"]["content"] == "Seen."
        assert len(server.sim.requests) == 3


async def test_of_two_decisions_the_one_that_was_not_taken_is_taken_now():
    """The connection was lost, or the server ended, between the two."""
    pays = [ToolCall("pay", {"amount": amount}) for amount in (3, 4)]
    async with office(Reply("Sure.", *pays), Reply("Done.")) as bureau:
        asked = (await bureau.http.post("/v1/responses", json={"input": "Go"})).json()
        names = [e["id"] for e in asked["output"] if e["type"] == "mcp_approval_request"]
        both = [{"type": "mcp_approval_response", "approve": True, "approval_request_id": name}
                for name in names]  # fmt: skip
        await bureau.http.post(f"/api/approvals/{names[0]}", json={"approved": True})
        body = {"input": both, "previous_response_id": asked["id"]}
        one = (await bureau.http.post("/v1/responses", json=body)).json()
        assert sorted(bureau.world.paid) == [("Bob", 3), ("Bob", 4)]
        assert one["output"][-1]["content"][0]["text"] == "Done."
        two = (await bureau.http.post("/v1/responses", json=body)).json()
        assert two == one
        assert len(bureau.world.paid) == 2
