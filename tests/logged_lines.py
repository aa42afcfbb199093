"""An app whose log lines are looked at."""

import io
import json
import logging
from contextlib import contextmanager

from turnlog import Agent, tool
from turnlog.telemetry import logs
from turnlog.testing.apps import scripted_app

WORD = "xylophone"  # the secret one


@tool(writes=False)
async def echo(text: str) -> str:
    """Says it again."""
    logging.getLogger("turnlog.tests").info("a tool ran")
    return text


@tool(writes=False)
def crash(text: str) -> str:
    """Breaks, and says why."""
    try:
        raise KeyError(text)
    except KeyError as error:
        raise ValueError(f"no {text}") from error


def running(*entries, **options):
    agents = [Agent("a", tools=[echo, crash])]
    return scripted_app(*entries, agents=agents, grace=0.0, **options)


@contextmanager
def written(form="json", level="debug", content=False):
    """The text that is logged inside."""
    root, ours = logging.getLogger(), logging.getLogger("turnlog")
    before = (root.handlers[:], root.level, ours.level)
    factory = logging.getLogRecordFactory()
    to = io.StringIO()
    logs.set_up(form, level, content=content, to=to)
    try:
        yield to
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])
        ours.setLevel(before[2])
        logging.setLogRecordFactory(factory)


def lines(to):
    return [json.loads(line) for line in to.getvalue().splitlines()]
