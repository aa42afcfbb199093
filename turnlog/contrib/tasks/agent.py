"""The agent that keeps a user's tasks, and its tools: add, list, update, complete, delete.

The tools are offered at `/mcp`, and the agent has them from there, as any other program would.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from turnlog.contrib.tasks.task import Task, Tasks
from turnlog.errors import ToolError
from turnlog.events.clock import now
from turnlog.ports import Agent
from turnlog.tools.mcp.server import McpServer
from turnlog.tools.offers.tool_offer import Hints, ToolOffer
from turnlog.tools.tool import ToolContext, tool

Title = Annotated[str, Meta(min_length=1, max_length=200, description="What is to be done")]
Description = Annotated[str, Meta(max_length=2_000, description="More about it")]
Id = Annotated[int, Meta(ge=1, le=2**53, description="The task's id, as list_tasks has it")]
Status = Literal["all", "pending", "completed"]
_COMPLETED = {"all": None, "pending": False, "completed": True}


class ShownTask(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A task as the model and other programs see it."""

    id: int
    title: str
    description: str
    completed: bool
    created_at: str
    updated_at: str


class TaskList(msgspec.Struct, frozen=True, kw_only=True):
    tasks: list[ShownTask]
    count: int


class DeletedTask(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    title: str
    deleted: bool = True


# fmt: off
HINTS = {
    "list_tasks":    Hints("List tasks",      destroys=False, repeatable=True),
    "add_task":      Hints("Add a task",      destroys=False, repeatable=False),
    "update_task":   Hints("Change a task",   destroys=True,  repeatable=True),
    "complete_task": Hints("Complete a task", destroys=False, repeatable=True),
    "delete_task":   Hints("Delete a task",   destroys=True,  repeatable=True),
}
# fmt: on

# Nobody is asked: the tasks are the user's own, and what is deleted is said.
OWN = McpServer("tasks", url="/mcp", trusted=True, prefix=False, approval="never")
TASKS = Agent(
    "tasks",
    description="The user's tasks: to list, add, change, complete and delete them.",
    prompt=(
        "You keep the user's tasks. Everything you say about them comes from a tool's result: "
        "never from memory. Call list_tasks before you name, count or change tasks. To delete "
        "all tasks, list them, delete each one, and list again to verify. Greetings and "
        "questions about yourself need no tool: you are the Todo AI Assistant. Answer briefly."
    ),
    mcp=[OWN],
)


# Each acts on the Tasks that the offer is made over.


@tool(writes=False)
async def list_tasks(context: ToolContext, status: Status = "all") -> TaskList:
    """The user's tasks and how many there are: all, or those that are pending or completed."""
    found = await _tasks(context).list_tasks(context.user_id, completed=_COMPLETED[status])
    return TaskList(tasks=[_shown(task) for task in found], count=len(found))


@tool
async def add_task(title: Title, context: ToolContext, description: Description = "") -> ShownTask:
    """Add a task to the user's list."""
    key = context.idempotency_key or None
    said = {"title": _said(title), "description": description}
    return _shown(await _tasks(context).add_task(context.user_id, **said, at=now(), key=key))


@tool
async def update_task(
    id: Id,
    context: ToolContext,
    title: Title | None = None,
    description: Description | None = None,
    completed: bool | None = None,
) -> ShownTask:
    """Change a task's title or description, or whether it is completed."""
    given = {"title": title and _said(title), "description": description}
    return await _changed(context, id, **given, completed=completed)


@tool
async def complete_task(id: Id, context: ToolContext) -> ShownTask:
    """Mark a task as completed."""
    return await _changed(context, id, completed=True)


@tool
async def delete_task(id: Id, context: ToolContext) -> DeletedTask:
    """Delete a task for good."""
    task = await _tasks(context).delete_task(context.user_id, id)
    return DeletedTask(id=task.id, title=task.title)


_OFFER = ToolOffer([list_tasks, add_task, update_task, complete_task, delete_task], HINTS)


def offer(tasks: Tasks) -> ToolOffer:
    """The task tools over this storage."""
    return _OFFER.over(tasks)


def _tasks(context: ToolContext) -> Tasks:
    tasks: Tasks = context.deps
    return tasks


async def _changed(context: ToolContext, id: int, **given: Any) -> ShownTask:
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise ToolError("Say what to change: title, description or completed.")
    tasks = _tasks(context)
    return _shown(await tasks.update_task(context.user_id, id, updated_at=now(), **changes))


def _said(title: str) -> str:
    if not title.strip():
        raise ToolError("The title is empty.")
    return title.strip()


def _shown(task: Task) -> ShownTask:
    return ShownTask(
        id=task.id,
        title=task.title,
        description=task.description,
        completed=task.completed,
        created_at=task.created_at,
        updated_at=task.updated_at,
    )
