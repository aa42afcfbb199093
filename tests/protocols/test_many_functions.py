"""A client is asked for more results than one page of approvals has, and each is matched."""

import pytest
from protocols.doors import frames

from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import served

MANY = 105
CALLS = Reply(*[ToolCall("look", {"at": number}) for number in range(MANY)])
LOOK = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}


async def through_completions(http):
    body = {"messages": [{"role": "user", "content": "Look"}],
            "tools": [{"type": "function", "function": LOOK}]}  # fmt: skip
    asked = (await http.post("/v1/chat/completions", json=body)).json()
    said = asked["choices"][0]["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "seen"}
        for call in said["tool_calls"]
    ]
    body["messages"] += [said, *results]
    done = (await http.post("/v1/chat/completions", json=body)).json()
    return len(results), done["choices"][0]["message"]["content"]


async def through_responses(http):
    tools = [{"type": "function", **LOOK}]
    asked = (await http.post("/v1/responses", json={"input": "Look", "tools": tools})).json()
    results = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": "seen"}
        for call in asked["output"]
    ]
    body = {"input": results, "tools": tools, "previous_response_id": asked["id"]}
    done = (await http.post("/v1/responses", json=body)).json()
    return len(results), done["output"][-1]["content"][0]["text"]


async def through_agui(http):
    body = {"threadId": "t", "runId": "r1", "tools": [LOOK],
            "messages": [{"id": "m", "role": "user", "content": "Look"}]}  # fmt: skip
    asked = frames(await http.post("/agui", json=body))
    calls = [each["toolCallId"] for each in asked if each["type"] == "TOOL_CALL_START"]
    results = [{"id": c, "role": "tool", "toolCallId": c, "content": "seen"} for c in calls]
    body |= {"runId": "r2", "messages": body["messages"] + results}
    told = frames(await http.post("/agui", json=body))
    texts = [each["delta"] for each in told if each["type"] == "TEXT_MESSAGE_CONTENT"]
    return len(results), "".join(texts)


@pytest.mark.parametrize("through", [through_completions, through_responses, through_agui])
async def test_all_results_of_an_answer_with_very_many_calls_are_taken(through):
    async with served(CALLS, Reply("All seen.")) as server:
        assert await through(server.http) == (MANY, "All seen.")
