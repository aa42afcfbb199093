"""The numbers for Prometheus: what is counted, by which bounded labels, and who may see it."""

import asyncio
import re
from contextlib import asynccontextmanager

import httpx2
import pytest

from turnlog import Agent, tool
from turnlog.ports import Question
from turnlog.simulator import Reply, ToolCall, overloaded, rate_limited
from turnlog.simulator.listener import listen
from turnlog.simulator.script import Cut, Stall, Usage, invalid_request
from turnlog.telemetry.metrics import Metrics
from turnlog.telemetry.registry import MOST_SERIES, Counter, Gauge, Histogram, render
from turnlog.testing.apps import SECRET, scripted_app
from turnlog.tokens import mint

CALLS = [ToolCall("echo", {"text": "a"}), ToolCall("crash")]


@tool(writes=False)
async def echo(text: str) -> str:
    """Says it again."""
    return text


@tool(writes=False)
def crash() -> str:
    """Breaks."""
    raise ValueError("broken")


@asynccontextmanager
async def running(*entries, **options):
    agents = [Agent("a", tools=[echo, crash])]
    async with scripted_app(*entries, agents=agents, grace=0.0, **options) as (app, _):
        yield app


def page(app):
    """The numbers that are not zero."""
    rows = re.findall(r"^(turnlog\S+) (\S+)$", app.metrics.page(), re.MULTILINE)
    return {name: float(value) for name, value in rows if float(value)}


def test_the_page_has_the_form_of_prometheus():
    counter = Counter("c_total", "Some.", ["code"])
    counter.add(2, 'a "b"\n\\')
    gauge = Gauge("g", "Now.")
    gauge.ask(lambda: 7)
    histogram = Histogram("h", "Sizes.", (1, 2.5))
    for value in (1, 2, 9):
        histogram.observe(value)
    assert render([counter, gauge, histogram]).splitlines() == [
        "# HELP c_total Some.",
        "# TYPE c_total counter",
        'c_total{code="a \\"b\\"\\n\\\\"} 2',
        "# HELP g Now.",
        "# TYPE g gauge",
        "g 7",
        "# HELP h Sizes.",
        "# TYPE h histogram",
        'h_bucket{le="1"} 1',
        'h_bucket{le="2.5"} 2',
        'h_bucket{le="+Inf"} 3',
        "h_sum 12",
        "h_count 3",
    ]


def test_labels_are_bounded():
    counter = Counter("c_total", "Some.", ["model"])
    for number in range(MOST_SERIES + 50):
        counter.add(1, f"m{number}")
    counter.add(1, "m0")
    assert len(list(counter.lines())) == MOST_SERIES + 1
    assert 'c_total{model="other"} 50' in list(counter.lines())
    assert 'c_total{model="m0"} 2' in list(counter.lines())


async def test_a_turn_is_counted():
    used = Usage(input_tokens=10, output_tokens=5, cache_read=3)
    async with running(Reply("Look.", *CALLS, usage=used), Reply("Done.", usage=used)) as app:
        await app.run_turn("Go")
        seen, model = page(app), app.settings.model
    assert seen["turnlog_turns_started_total"] == 1
    assert seen['turnlog_turns_ended_total{outcome="success"}'] == 1
    assert "turnlog_turns_running" not in seen
    assert seen["turnlog_turn_duration_seconds_count"] == 1
    assert seen["turnlog_first_chunk_seconds_count"] == 1
    assert seen['turnlog_chunks_total{kind="text"}'] >= 2
    assert seen[f'turnlog_model_calls_total{{model="{model}",stop_reason="tool_use"}}'] == 1
    assert seen[f'turnlog_tokens_total{{model="{model}",kind="input"}}'] == 20
    assert seen[f'turnlog_tokens_total{{model="{model}",kind="cache_read"}}'] == 6
    assert seen['turnlog_tool_calls_total{outcome="success"}'] == 1
    assert seen['turnlog_tool_calls_total{outcome="failed"}'] == 1
    assert seen["turnlog_tool_duration_seconds_count"] == 2


async def test_failed_and_refused_turns_are_counted():
    async with running(invalid_request()) as app:
        await app.run_turn("Go")
        with pytest.raises(Exception, match="empty"):
            await app.run_turn("")
        seen = page(app)
    assert seen["turnlog_turns_started_total"] == 1
    assert seen['turnlog_turns_ended_total{outcome="error"}'] == 1
    assert seen['turnlog_model_errors_total{code="invalid_request"}'] == 1
    assert seen['turnlog_turn_errors_total{code="invalid_request"}'] == 1


async def test_provider_errors_and_retries_are_counted_by_code():
    cut = Reply("Hello you.", chunk=5, ending=Cut(5))
    script = [overloaded(0.01), rate_limited(0.01), Reply("Hi."), invalid_request(), cut]
    async with running(*script) as app:
        for question in ("Go", "Go on", "And on"):
            await app.run_turn(question)
        seen = page(app)
    for code in ("overloaded", "rate_limited"):
        assert seen[f'turnlog_provider_errors_total{{code="{code}"}}'] == 1
        assert seen[f'turnlog_provider_retries_total{{code="{code}"}}'] == 1
    assert seen['turnlog_provider_errors_total{code="invalid_request"}'] == 1
    assert seen['turnlog_provider_errors_total{code="stream_cut"}'] == 1
    assert 'turnlog_provider_retries_total{code="invalid_request"}' not in seen


async def test_a_stopped_turn_is_counted_as_cancelled():
    async with running(Reply("One two three", chunk=3, ending=Stall(4, 60))) as app:
        session = await app.create_session("ann")
        await app.start_turn("ann", session.id, Question(message="Go"))
        assert page(app)["turnlog_turns_running"] == 1
        await app.stop_turn("ann", session.id)
        await app.end_turns()
        seen = page(app)
    assert "turnlog_turns_running" not in seen
    assert seen['turnlog_turns_ended_total{outcome="cancelled"}'] == 1


def test_open_streams_are_counted():
    metrics = Metrics()
    with pytest.raises(KeyError), metrics.watching("sse"), metrics.watching("sse"):
        assert 'turnlog_open_streams{transport="sse"} 2\n' in metrics.page()
        raise KeyError
    assert 'turnlog_open_streams{transport="sse"} 0\n' in metrics.page()


async def test_each_app_has_its_own_numbers():
    async with running(Reply("Yes.")) as one, running() as other:
        await one.run_turn("Go")
        assert page(one)
        assert not page(other)


async def test_commits_of_the_writer_are_counted(tmp_path):
    async with running(Reply("Yes."), store=f"sqlite:{tmp_path}") as app:
        await app.run_turn("Go")
        seen = page(app)
    assert seen['turnlog_store_commits_total{outcome="success"}'] >= 3
    assert seen["turnlog_store_jobs_per_commit_sum"] >= 3
    assert "turnlog_store_queue_depth" not in seen  # nothing waits


async def test_http_streams_are_counted():
    async with (
        running(Reply("One two three", chunk=3, ending=Stall(4, 60))) as app,
        listen(app, "127.0.0.1", 0) as url,
        httpx2.AsyncClient(timeout=60, base_url=url) as http,
    ):
        session = await app.create_session("local")
        await app.start_turn("local", session.id, Question(message="Go"))
        async with http.stream("GET", f"/api/sessions/{session.id}/stream") as response:
            await anext(response.aiter_bytes())
            assert page(app)['turnlog_open_streams{transport="sse"}'] == 1
        async with asyncio.timeout(60):  # or a client that went away is still counted
            while 'turnlog_open_streams{transport="sse"}' in page(app):
                await asyncio.sleep(0.01)


async def got(secret, path="/metrics", token=None, **headers):
    async with (
        running(auth_secret=secret, metrics_token=token) as app,
        listen(app, "127.0.0.1", 0) as url,
        httpx2.AsyncClient(timeout=60, base_url=url) as http,
    ):
        return await http.get(path, headers=headers)


async def test_metrics_are_open_without_authentication():
    response = await got(None)
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "turnlog_turns_started_total 0\n" in response.text


@pytest.mark.parametrize(("admin", "status"), [(None, 401), (False, 403), (True, 200)])
async def test_metrics_are_for_admins_only_where_there_are_users(admin, status):
    token = {} if admin is None else {"authorization": f"Bearer {mint(SECRET, 'p', admin=admin)}"}
    assert (await got(SECRET, **token)).status_code == status


SCRAPER = "a token for Prometheus alone"


@pytest.mark.parametrize(
    ("bearer", "status"), [(SCRAPER, 200), (f"{SCRAPER}!", 401), (SCRAPER[:-1], 401), ("ü", 401)]
)
async def test_the_metrics_token_opens_the_metrics(bearer, status):
    header = {"authorization": f"Bearer {bearer}".encode()}
    assert (await got(SECRET, token=SCRAPER, **header)).status_code == status


async def test_the_metrics_token_opens_nothing_else():
    header = {"authorization": f"Bearer {SCRAPER}"}
    assert (await got(SECRET, "/api/sessions", SCRAPER, **header)).status_code == 401
    admin = {"authorization": f"Bearer {mint(SECRET, 'p', admin=True)}"}
    assert (await got(SECRET, token=SCRAPER, **admin)).status_code == 200


async def test_without_a_metrics_token_no_token_is_one():
    assert (await got(SECRET, authorization="Bearer None")).status_code == 401


async def test_cpu_and_memory_are_counted():
    numbers = dict(re.findall(r"^(process_\w+) (\S+)$", (await got(None)).text, re.MULTILINE))
    assert float(numbers["process_cpu_seconds_total"]) > 0
    assert float(numbers["process_resident_memory_bytes"]) > 1e6


async def test_costs_and_unknown_costs_are_counted():
    used = Usage(input_tokens=1000, output_tokens=100)
    odd = Reply("Hm.", usage=used, model="nobody")
    async with running(Reply("Hi.", usage=used), odd) as app:
        await app.run_turn("Go")
        await app.run_turn("Go")
        seen = page(app)
    assert seen[f'turnlog_cost_usd_total{{model="{app.settings.model}"}}'] == 0.003
    assert seen['turnlog_unpriced_calls_total{model="nobody"}'] == 1
