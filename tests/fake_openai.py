"""OpenAI's APIs on loopback, streamed: Chat Completions, and Responses, each by itself.

They share no code with turnlog's own `/v1`: what both got wrong in the same way is seen here.
"""

import json
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp_server import listening

DONE = b"data: [DONE]\n\n"


def chunk(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    about = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt"}
    return f"data: {json.dumps(about | {'choices': [choice]})}\n\n".encode()


def says(text):
    return chunk({"role": "assistant", "content": text})


def calls(name, arguments):
    function = {"name": name, "arguments": arguments}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return chunk({"role": "assistant", "tool_calls": [call]})


class FakeOpenAI:
    """Gives these answers: a text, (tool, id, arguments), or a list of frames as they are."""

    path = "/v1/chat/completions"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    @asynccontextmanager
    async def serve(self):
        async with listening(self._complete, self.path) as url:
            yield f"{url}/v1"

    async def _complete(self, request):
        self.requests.append(await request.json())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        answer = self.answers.pop(0)
        for frame in answer if isinstance(answer, list) else self._frames(answer):
            await response.write(frame)
        return response

    def _frames(self, answer):
        for chunk in self._chunks(answer):
            yield f"data: {json.dumps(chunk)}\n\n".encode()
        yield b"data: [DONE]\n\n"

    def _chunks(self, answer):
        about = {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-fake",
        }

        def chunk(delta, reason=None):
            return about | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

        if isinstance(answer, str):
            half = len(answer) // 2
            for text in (answer[:half], answer[half:]):
                yield chunk({"role": "assistant", "content": text})
            yield chunk({}, "stop")
        else:
            name, call, arguments = answer
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": call, "type": "function", "function": function}
            yield chunk({"role": "assistant", "tool_calls": [call]})
            yield chunk({}, "tool_calls")
        usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
        yield about | {"choices": [], "usage": usage}


class FakeResponses(FakeOpenAI):
    """The same answers by the Responses API."""

    path = "/v1/responses"

    def _frames(self, answer):
        for number, event in enumerate(self._events(answer)):
            event["sequence_number"] = number
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def _events(self, answer):
        number = len(self.requests)
        head = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "gpt-fake",
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip
        item = self._item(answer, number)
        place = {"output_index": 0, "item_id": item["id"]}
        yield {"type": "response.created", "response": head | {"output": [], "status": "queued"}}
        empty = {"content": []} if item["type"] == "message" else {"arguments": ""}
        begun = item | empty | {"status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
        if item["type"] == "message":
            (part,) = item["content"]
            inside = place | {"content_index": 0}
            yield {"type": "response.content_part.added", "part": part | {"text": ""}, **inside}
            half = len(answer) // 2
            for text in (answer[:half], answer[half:]):
                yield {
                    "type": "response.output_text.delta",
                    "delta": text,
                    "logprobs": [],
                    **inside,
                }
            yield {"type": "response.output_text.done", "text": answer, "logprobs": [], **inside}
            yield {"type": "response.content_part.done", "part": part, **inside}
        else:
            args = item["arguments"]
            yield {"type": "response.function_call_arguments.delta", "delta": args, **place}
            yield {"type": "response.function_call_arguments.done", "arguments": args,
                   "name": item["name"], **place}  # fmt: skip
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        usage = {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 0},
                 "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
                 "total_tokens": 25}  # fmt: skip
        over = head | {"output": [item], "status": "completed", "usage": usage}
        yield {"type": "response.completed", "response": over}

    def _item(self, answer, number):
        if isinstance(answer, str):
            part = {"type": "output_text", "text": answer, "annotations": [], "logprobs": []}
            return {"id": f"msg_{number}", "type": "message", "role": "assistant",
                    "status": "completed", "content": [part]}  # fmt: skip
        name, call, arguments = answer
        return {"id": f"fc_{number}", "type": "function_call", "status": "completed",
                "call_id": call, "name": name, "arguments": json.dumps(arguments)}  # fmt: skip
