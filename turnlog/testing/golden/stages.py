"""The agent that a golden page is played with: scripted tools, or a real agent in conversation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from turnlog.app import Connection
from turnlog.contrib.business_central import BusinessCentral, erp_agent
from turnlog.contrib.business_central.sandbox import Sandbox
from turnlog.contrib.tasks.agent import TASKS
from turnlog.contrib.tasks.task import Tasks
from turnlog.errors import ToolError
from turnlog.events.handovers import is_reserved
from turnlog.ports import Agent, ToolSpec
from turnlog.simulator import ToolCall
from turnlog.testing.golden.pages import Page
from turnlog.testing.golden.steps import ToolStep
from turnlog.tools.tool import Tool, ToolContext
from turnlog.transports.access.auth import LOCAL_USER

SOME_TIME = "2026-11-16T12:00:00.000Z"


@dataclass(frozen=True)
class Stage:
    agents: tuple[Agent, ...]
    connections: tuple[Connection, ...] = ()


@asynccontextmanager
async def stage_for(page: Page) -> AsyncIterator[Stage]:
    """What the page's script names: `erp is`, `tasks are`, or the tools that its model calls."""
    if page.erp:
        async with _erp() as stage:
            yield stage
    elif page.tasks is not None:
        yield Stage((TASKS,))
    elif page.team:
        yield Stage(tuple(_member(page, name) for name in page.team))
    else:
        tools = _tools(page)
        yield Stage((Agent("assistant", prompt="You are helpful.", tools=tools, web_search=True),))


PROMPT = "You are {name}."  # a team's replies are found by it


def _member(page: Page, name: str) -> Agent:
    return Agent(
        name,
        prompt=PROMPT.format(name=name),
        description=f"Knows all about {name}.",
        tools=_tools(page, name),
        hands_over_to=page.team[name],
    )


async def add_tasks(page: Page, tasks: Tasks) -> None:
    for title in page.tasks or ():
        await tasks.add_task(LOCAL_USER, title=title, description="", at=SOME_TIME)


@asynccontextmanager
async def _erp() -> AsyncIterator[Stage]:
    """The real agent and a sandbox of the ERP whose clock stands still, so that pages are equal."""
    sandbox = Sandbox(clock=lambda: datetime.fromisoformat(SOME_TIME))
    async with sandbox.serve() as url:
        bc = BusinessCentral(sandbox.endpoint(url))
        yield Stage((erp_agent(bc),), (bc,))


def _tools(page: Page, caller: str = "") -> list[Tool]:
    """A tool for each name that the page calls, unless it says that there is none."""
    tools: dict[str, Tool] = {}
    for turn in page.turns:
        for tool_id, call in turn.calls.items():
            if turn.callers[tool_id] != caller or is_reserved(call.name):
                continue
            if turn.tools.get(tool_id, ToolStep("returns")).verb != "is unknown":
                tools[call.name] = _tool(page, call)
    return list(tools.values())


def _tool(page: Page, call: ToolCall) -> Tool:
    steps = {tool_id: step for turn in page.turns for tool_id, step in turn.tools.items()}

    dying = {tool_id: began for turn in page.turns for tool_id, began in turn.dying.items()}

    async def act(context: ToolContext, **args: Any) -> Any:
        if began := dying.pop(context.tool_use_id, None):
            began.set()
            await asyncio.Event().wait()  # until the server dies
        step = steps[context.tool_use_id]
        if step.verb == "fails":
            raise ToolError(step.value)
        if step.verb == "crashes":
            raise RuntimeError(step.value)
        return step.value

    schema = {"type": "object", "properties": {name: {} for name in call.input}}
    return Tool(
        function=act,
        spec=ToolSpec(name=call.name, description="For the test.", input_schema=schema),
        arguments=msgspec.defstruct(call.name, [(name, Any) for name in call.input]),
        context_names=("context",),
        writes=call.name in page.asking,
    )
