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
from turnlog.ports import Agent, Store
from turnlog.ports.library import Library


class Team(NamedTuple):
    agents: Sequence[Agent]
    connections: Sequence[Connection]
    library: Library


def demo_team(settings: Settings, store: Store) -> Team:
    """Raises ConfigError for settings of its parts that cannot be."""
    endpoint = endpoint_from(settings.contrib)
    shelves = shelves_beside(store, settings.data, settings.contrib)
    erp = BusinessCentral(endpoint, sandbox_folder(store.url, settings.data))
    workers = (erp_agent(erp), TASKS, knowledge_agent(shelves))
    return Team(demo.agents(*workers), [erp, shelves], shelves)
