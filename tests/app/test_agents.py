"""Agents as people make them: a prompt that is a function, deps, an output that is a value."""

import enum

import pytest
from pydantic import BaseModel, Field

from turnlog import Agent, PromptContext, ToolContext, create_app, tool
from turnlog.config import Settings
from turnlog.config.agents import AgentEntry
from turnlog.errors import ConfigError
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import scripted_app


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Report(BaseModel):
    title: str
    score: int = Field(ge=1, le=5)
    mood: Mood = Mood.GOOD


class Office:
    """What tools and prompts need."""

    def __init__(self):
        self.asked = []

    def greeting(self, user_id):
        self.asked.append(user_id)
        return f"You help {user_id}."


@tool(writes=False)
def whose(context: ToolContext) -> str:
    """Whose office it is."""
    return context.deps.greeting(context.user_id)


def systems(sim):
    return [request["system"][0]["text"] for request in sim.requests]


def plain(context: PromptContext) -> str:
    return f"{context.deps.greeting(context.user_id)} Session of {context.session.agent_id}."


async def later(context: PromptContext) -> str:
    return plain(context)


@pytest.mark.parametrize("prompt", [plain, later])
async def test_a_prompt_is_made_for_the_user_of_the_session(prompt):
    agent = Agent("a", prompt=prompt, deps=Office())
    async with scripted_app(Reply("Hi."), Reply("Hi."), agents=[agent]) as (app, sim):
        for user in ("alice", "bob"):
            assert (await app.run_turn("Hello", user_id=user)).success
        assert systems(sim) == [f"You help {user}. Session of a." for user in ("alice", "bob")]


async def test_a_prompt_is_made_once_for_a_turn_and_again_for_the_next():
    """Within a turn nothing changes that stands before the history: the cache stays."""
    office, count = Office(), iter(range(9))
    agent = Agent("a", prompt=lambda context: f"Number {next(count)}.", tools=[whose], deps=office)
    replies = [Reply(ToolCall("whose", {})), Reply("Done."), Reply("Again.")]
    async with scripted_app(*replies, agents=[agent]) as (app, sim):
        first = await app.run_turn("Hello")
        await app.run_turn("Hello", session_id=first.session_id)
        assert systems(sim) == ["Number 0.", "Number 0.", "Number 1."]


async def test_deps_reach_the_tools_of_their_agent():
    office = Office()
    agent = Agent("a", tools=[whose], deps=office)
    async with scripted_app(Reply(ToolCall("whose", {})), Reply("Done."), agents=[agent]) as (
        app,
        sim,
    ):
        result = await app.run_turn("Hello", user_id="alice")
        results = [e.event.result for e in result.events if e.event.type == "tool_result"]
        assert (results, office.asked) == (["You help alice."], ["alice"])


@pytest.mark.parametrize("prompt", [lambda context: 5, lambda context: 1 / 0])
async def test_a_prompt_that_cannot_be_made_ends_the_turn_without_its_text(prompt):
    async with scripted_app(agents=[Agent("a", prompt=prompt)]) as (app, sim):
        result = await app.run_turn("Hello")
        assert (result.success, sim.requests) == (False, [])
        assert "division" not in result.error


# an output


async def test_an_answer_is_a_value():
    answer = '{"title": "Fine", "score": 4, "mood": "bad"}'
    agent = Agent("a", output=Report, tools=[whose], deps=Office())
    async with scripted_app(Reply(ToolCall("whose", {})), Reply(answer), agents=[agent]) as (
        app,
        sim,
    ):
        result = await app.run_turn("How was it?")
        assert (result.success, result.text) == (True, answer)
        assert result.output == Report(title="Fine", score=4, mood=Mood.BAD)
        form = sim.requests[-1]["output_config"]["format"]
        assert form["type"] == "json_schema"
        assert form["schema"]["additionalProperties"] is False
        assert form["schema"]["$defs"]["Mood"]["enum"] == ["good", "bad"]
        assert sim.refused == []


async def test_thinking_and_an_output_go_together():
    agent = Agent("a", output=list[int])
    async with scripted_app(Reply("[1, 2]"), agents=[agent]) as (app, sim):
        result = await app.run_turn("Count", enable_thinking=True)
        assert result.output == [1, 2]
        assert sim.requests[-1]["output_config"].keys() == {"effort", "format"}


@pytest.mark.parametrize("answer", ["no JSON", '{"title": "x"}', '{"title": "x", "score": 9}', ""])
async def test_an_answer_that_does_not_fit_is_no_success(answer):
    async with scripted_app(Reply(answer), agents=[Agent("a", output=Report)]) as (app, _):
        result = await app.run_turn("How was it?")
        assert (result.success, result.output) == (False, None)
        assert "does not fit the agent's output" in result.error


def test_an_output_without_a_schema_is_refused_at_once():
    with pytest.raises(ConfigError, match="Agent 'a': its output has the type Office"):
        create_app([Agent("a", output=Office)], settings=Settings())


@pytest.mark.parametrize(
    ("agents", "sentence"),
    [
        (
            Agent("a"),
            "create_app takes a list of agents: create_app\\(\\[Agent\\('assistant'\\)\\]\\)",
        ),
        ("a", "create_app takes a list of agents"),
        (5, "create_app takes a list of agents, not 5"),
        (["a"], "'a' is not an agent. Make one: Agent"),
    ],
)
def test_what_is_no_list_of_agents_is_refused(agents, sentence, tmp_path):
    with pytest.raises(ConfigError, match=sentence):
        create_app(agents, settings=Settings(data=tmp_path))


def test_an_agent_that_the_file_has_too_is_named(tmp_path):
    settings = Settings(data=tmp_path, agents=(AgentEntry(id="a", prompt="Help."),))
    with pytest.raises(ConfigError, match=r"of its own: \['a'\]. turnlog.toml has \[agents.a\]"):
        create_app([Agent("a")], settings=settings)
    with pytest.raises(ConfigError, match=r"of its own: \['b'\]\.$"):
        create_app([Agent("b"), Agent("b")], settings=settings)
