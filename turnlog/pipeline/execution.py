"""Stage 2. The engine answers.

In:  an Ask and the tools of the turn.
Out: batches of what the engine says. What a provider does wrong arrives as EngineFailed.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from turnlog.ports import (
    Ask,
    Engine,
    Said,
    ToolBox,
)


async def execute(ask: Ask, engine: Engine, tools: ToolBox) -> AsyncGenerator[Said, None]:
    """The engine runs only while its batches are asked for: one is stored before the next."""
    async with aclosing(engine.answer(ask, tools)) as batches:
        async for said in batches:
            yield said
