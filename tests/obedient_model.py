"""A Model in this process that does what the question says."""

import asyncio
from itertools import count

from own_model import OwnModel

from turnlog.events import kinds as k
from turnlog.events.content import TokenUsage
from turnlog.ports import CallStarted


class ObedientModel(OwnModel):
    """It calls the tools that the question names, and then answers; `wait`: it says no more."""

    def __init__(self, *tools):
        self._tools = {tool.name for tool in tools}
        self._ids = count()

    async def call(self, prompt):
        last = prompt.messages[-1]["content"][-1]
        words = last.get("text", "").split()
        named = [word for word in words if word in self._tools]
        id = f"msg_{next(self._ids)}"
        yield [CallStarted(message_id=id, model="obedient", reported={})]
        yield [k.MessageChunk(message_id=id, content="Well.", block_index=0)]
        if "wait" in words:
            await asyncio.Event().wait()
        calls = [
            {"type": "tool_use", "id": f"toolu_{next(self._ids)}", "name": name, "input": {}}
            for name in named
        ]
        blocks = [{"type": "text", "text": "Well."}, *calls]
        reason = "tool_use" if named else "end_turn"
        said = {"message_id": id, "blocks": blocks, "model": "obedient", "stop_reason": reason}
        yield [k.Message(**said, token_usage=TokenUsage())]
