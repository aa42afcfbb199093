"""OpenAI's Chat Completions on loopback, streamed: as much of it as chat models of others need."""

import json
from contextlib import asynccontextmanager

from aiohttp import web


class FakeOpenAI:
    """Gives these answers: a text, or (tool, id, arguments)."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    @asynccontextmanager
    async def serve(self):
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/v1"
        finally:
            await runner.cleanup()

    async def _complete(self, request):
        self.requests.append(await request.json())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for chunk in self._chunks(self.answers.pop(0)):
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

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
