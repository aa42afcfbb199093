"""Task tools over a list in memory, for golden pages on which the simulator converses.

The same names, arguments and results as the task tools that ship.
"""

from collections.abc import Sequence
from typing import Any, Literal

from turnlog.errors import ToolError
from turnlog.tools.registry import Tool, tool

Status = Literal["all", "pending", "completed"]


def task_tools(titles: Sequence[str]) -> list[Tool]:
    """The tools of one user who has these tasks."""
    tasks = [
        {"id": at, "title": title, "completed": False} for at, title in enumerate(titles, start=1)
    ]

    def one(task_id: int) -> dict[str, Any]:
        for task in tasks:
            if task["id"] == task_id:
                return task
        raise ToolError(f"There is no task {task_id}.")

    @tool(approval="never")
    async def add_task(title: str) -> dict[str, Any]:
        """Add a task for the user."""
        last = max((int(str(task["id"])) for task in tasks), default=0)
        tasks.append({"id": last + 1, "title": title, "completed": False})
        return tasks[-1]

    @tool(writes=False)
    async def list_tasks(status: Status = "all") -> list[dict[str, Any]]:
        """List the user's tasks."""
        return [t for t in tasks if status == "all" or t["completed"] == (status == "completed")]

    @tool(approval="never")
    async def update_task(task_id: int, title: str) -> dict[str, Any]:
        """Change the title of a task."""
        one(task_id)["title"] = title
        return one(task_id)

    @tool(approval="never")
    async def complete_task(task_id: int) -> dict[str, Any]:
        """Mark a task as completed."""
        one(task_id)["completed"] = True
        return one(task_id)

    @tool(approval="never")
    async def delete_task(task_id: int) -> dict[str, Any]:
        """Delete a task."""
        task = one(task_id)
        tasks.remove(task)
        return task

    return [add_task, list_tasks, update_task, complete_task, delete_task]
