"""Graphs as LangGraph's own examples have them, and an app around one."""

from contextlib import asynccontextmanager

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from turnlog import Settings, create_app
from turnlog.events.rows.record import stamped
from turnlog.ports import Decision
from turnlog.projections.proof import prove
from turnlog.simulator import SimulatedClaude
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import invariants
from turnlog.testing.golden.people import until_at_rest
from turnlog.transports import wire

USER = "local"
PAID = []


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"It's always sunny in {city}!"


@tool
def pay(amount: int) -> str:
    """Pays, if a person says so."""
    answer = interrupt({"question": f"Pay {amount}?"})
    PAID.append((amount, answer))
    return f"paid {amount}" if answer else "not paid"


@tool
def who(config: RunnableConfig) -> str:
    """For whom this acts."""
    return config["configurable"]["user_id"]


@asynccontextmanager
async def claude(*entries, model="claude-sonnet-5-5"):
    sim = SimulatedClaude(*entries, pace=0)
    async with sim.serve() as url:
        yield ChatAnthropic(model=model, base_url=url, api_key="x")
    assert sim.refused == [] and sim.pending == 0


def app_of(graph, store=None):
    return create_app(graph=graph, settings=Settings(), store=store or MemoryStore())


async def talk(app, *messages, session=None):
    """What was shown of each turn; the log is proven after each."""
    session = session or await app.create_session(USER)
    live = []
    for message in messages:
        result = await app.run_turn(message, session_id=session.id)
        live += [wire.decode(wire.encode(entry)) for entry in result.events]
        if not result.waiting:
            await check(app, session.id, live)
    return session, live


async def check(app, session_id, live):
    evidence = await app.store.evidence(session_id)
    kept = [stamped(row) for row in evidence.log]
    log = [wire.decode(wire.encode(entry)) for entry in kept if not entry.envelope.internal]
    problems = [*invariants.broken(live, log), *prove(evidence).problems]
    assert problems == [], problems


async def hidden(app, session_id):
    evidence = await app.store.evidence(session_id)
    return [e.event for e in map(stamped, evidence.log) if e.envelope.internal]


def kinds(live):
    rows = [(e["agent"]["id"], e["type"]) for e in live if not e["type"].endswith("_chunk")]
    return [kind for agent, kind in rows], {agent for agent, _ in rows}


async def decided(app, session, live, asked, **decision):
    await app.answer_approval(USER, asked["approvalId"], Decision(**decision))
    return await until_at_rest(app, session.id, live)


def asking_graph():
    """LangGraph's first example of a human in the loop: no model, no tool."""

    def ask(state: MessagesState):
        answer = interrupt("What is your name?")
        return {"messages": [AIMessage(f"Hello, {answer}.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=InMemorySaver())
