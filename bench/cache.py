"""What the prompt cache saves in a long session, by the tokens that the provider reports."""

import tempfile

from bench.parts import Say, head, line
from turnlog.app import create_app
from turnlog.config import Settings
from turnlog.events.content import TokenUsage
from turnlog.ports import Agent
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.tools.tool import tool

TURNS = 50
PROMPT = "You help with the ERP. Be exact, cite numbers, never guess. " * 100
READ, WRITTEN = 0.1, 1.25  # the price of a token from the cache and into it, fresh ones being 1


@tool
async def look_up(name: str) -> dict[str, str]:
    """Look a customer up by name."""
    return {"name": name, "address": "1 Duck Street, Duckburg, Calisota. " * 10}


async def run(say: Say) -> None:
    """A session of 50 turns with a tool call each, with the cache and without."""
    title = f"the prompt cache, {TURNS} turns of one session"
    say(head(title, "input", "re-read", "written", "fresh", "cost"))
    for cache in ("5m", "off"):
        say(line(f"prompt_cache = {cache}", *_figures(await _session(cache))))


async def _session(cache: str) -> TokenUsage:
    sim = SimulatedClaude(pace=0, keep=1)
    used = TokenUsage()
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as folder:
        async with sim.serve() as url:
            settings = Settings(
                api_key="bench",
                base_url=url,
                data=folder,
                prompt_cache=cache,
                messages_a_minute=1_000_000,
            )
            app = create_app([Agent("erp", prompt=PROMPT, tools=[look_up])], settings=settings)
            async with app:
                session = await app.create_session("bench")
                for turn in range(TURNS):
                    sim.queue(Reply("I look.", ToolCall("look_up", {"name": f"Customer {turn}"})))
                    sim.queue(Reply("It is in Duck Street, as far as the records tell. " * 10))
                    question = f"Where is customer {turn}?"
                    result = await app.run_turn(question, session_id=session.id, user_id="bench")
                    used += result.usage
    return used


def _figures(used: TokenUsage) -> list[str]:
    """All input tokens, the parts of them, and what they cost where fresh ones cost 1 each."""
    read, written, fresh = used.cache_read_tokens, used.cache_write_tokens, used.input_tokens
    whole = read + written + fresh
    cost = (fresh + READ * read + WRITTEN * written) / whole
    return [
        f"{whole:,}",
        *(f"{part / whole:.1%}" for part in (read, written, fresh)),
        f"{cost:.2f}",
    ]
