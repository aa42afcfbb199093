"""The applications that are measured: one agent without tools on each engine, and a team of two."""

from turnlog import Agent, create_app

ASSISTANT = Agent("assistant", prompt="You help.")

app = create_app([ASSISTANT])
graph = create_app([ASSISTANT], engine="langgraph")
agents = create_app([ASSISTANT], engine="openai_agents")
team = create_app(
    [
        Agent("lead", prompt="You route.", hands_over_to=["worker"]),
        Agent("worker", prompt="You work."),
    ]
)
