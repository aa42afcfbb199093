"""Whether the model, the MCP servers and the connections answer."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from turnlog.config import Settings
from turnlog.errors import TurnlogError
from turnlog.ports import Prompt
from turnlog.tools.mcp.source import Sources
from turnlog.transports.access.auth import LOCAL_USER
from turnlog.turns.answers.engines import Engines

PATIENCE = 30.0  # seconds for each
Answer = tuple[bool, str]  # whether it is well, and a sentence


async def examine(
    settings: Settings,
    answering: Callable[[], AbstractAsyncContextManager[None]],
    engines: Engines,
    mcp: Sources,
    app: Any,
) -> dict[str, Answer]:
    """By the name of each."""
    answers = {"model": await _within(_model(settings, answering, engines))}
    async with mcp:
        servers = await mcp.examine(LOCAL_USER)
    answers |= {f"mcp {name}": answer for name, answer in servers.items()}
    for connection in app._connections:
        if hasattr(connection, "examine"):
            name = type(connection).__name__
            answers[name] = await _within(_connection(connection))
    return answers


async def _model(
    settings: Settings,
    answering: Callable[[], AbstractAsyncContextManager[None]],
    engines: Engines,
) -> Answer:
    """The first one that can count tokens: all that ship use the same provider."""
    async with answering():
        every: list[Any] = [engines.get(name) for name in engines.names]
        able = [engine for engine in every if hasattr(engine, "count")]
        if not able:
            return True, f"{', '.join(engines.names)}: cannot be asked without a turn"
        words = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
        prompt = Prompt(model=settings.model, system="", messages=words, max_tokens=1)
        await able[0].count(prompt)
    where = "simulated" if settings.simulated else settings.base_url or "api.anthropic.com"
    return True, f"{settings.model} answers ({where})"


async def _connection(connection: Any) -> Answer:
    return True, await connection.examine()


async def _within(asking: Any) -> Answer:
    try:
        async with asyncio.timeout(PATIENCE):
            answer: Answer = await asking
            return answer
    except TimeoutError:
        return False, f"no answer within {PATIENCE:g} seconds: is the network there?"
    except TurnlogError as error:
        return False, str(error)
