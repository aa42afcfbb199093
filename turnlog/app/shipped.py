"""The agents that ship: the demo's team, with what its tools talk to."""

from collections.abc import Sequence
from typing import NamedTuple

from turnlog.app.application import Connection
from turnlog.config import Settings
from turnlog.contrib import demo
from turnlog.contrib.business_central import (
    BusinessCentral,
    endpoint_from,
    erp_agent,
    sandbox_folder,
)
from turnlog.contrib.knowledge.agent import knowledge_agent
from turnlog.contrib.knowledge.shelves import shelves_beside
from turnlog.contrib.tasks.agent import TASKS
from turnlog.contrib.tasks.storage import tasks_beside
from turnlog.ports import Agent, Store
from turnlog.ports.library import Library


class Team(NamedTuple):
    agents: Sequence[Agent]
    connections: Sequence[Connection]
    library: Library


async def forget_user(store: Store, settings: Settings, user_id: str) -> list[tuple[int, str]]:
    """Delete the user's own documents and tasks, which are beside the log; how many there were.
    What belongs to a team stays.
    """
    shelves = shelves_beside(store, settings.data, settings.contrib)
    tasks = tasks_beside(store, settings.data)
    async with shelves, tasks:
        documents = [
            each for each in await shelves.documents(user_id) if each.owner == f"user:{user_id}"
        ]
        for document in documents:
            await shelves.delete(user_id, document.id)
        await shelves.library.indexed()  # and its words forgotten
        own = await tasks.list_tasks(user_id)
        for task in own:
            await tasks.delete_task(user_id, task.id)
    return [(len(documents), "document"), (len(own), "task")]


def demo_team(settings: Settings, store: Store) -> Team:
    """Raises ConfigError for settings of its parts that cannot be."""
    endpoint = endpoint_from(settings.contrib)
    shelves = shelves_beside(store, settings.data, settings.contrib)
    erp = BusinessCentral(endpoint, sandbox_folder(store.url, settings.data))
    workers = (erp_agent(erp), TASKS, knowledge_agent(shelves))
    return Team(demo.agents(*workers), [erp, shelves], shelves)
