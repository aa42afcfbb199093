"""Every number that turnlog counts, in one table. One set for each app."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.telemetry.registry import Counter, Gauge, Histogram, Metric, render

SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
BLINKS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500)


class Metrics:
    """The numbers of one app. Labels never name a user, a session or a turn."""

    def __init__(self) -> None:
        self.turns_started = Counter("turnlog_turns_started_total", "Turns begun.")
        self.turns_ended = Counter("turnlog_turns_ended_total", "Turns over.", ["outcome"])
        self.turns_running = Gauge("turnlog_turns_running", "Turns that this process works on.")
        self.turn_seconds = Histogram(
            "turnlog_turn_duration_seconds", "From question to end.", SECONDS
        )
        self.first_chunk_seconds = Histogram(
            "turnlog_first_chunk_seconds", "From question to the first piece of an answer.", BLINKS
        )
        self.chunks = Counter("turnlog_chunks_total", "Chunks shown, after joining.", ["kind"])
        self.model_calls = Counter(
            "turnlog_model_calls_total",
            "Answers of a model, by how they stopped.",
            ["model", "stop_reason"],
        )
        self.model_errors = Counter(
            "turnlog_model_errors_total", "Turns that failed because the model did.", ["code"]
        )
        self.provider_errors = Counter(
            "turnlog_provider_errors_total", "Requests that the provider did not take.", ["code"]
        )
        self.provider_retries = Counter(
            "turnlog_provider_retries_total", "Requests sent again, by what failed.", ["code"]
        )
        self.errors = Counter("turnlog_turn_errors_total", "Turns that failed.", ["code"])
        self.tokens = Counter("turnlog_tokens_total", "Tokens used.", ["model", "kind"])
        self.cost = Counter("turnlog_cost_usd_total", "Dollars spent, where known.", ["model"])
        self.agent_calls = Counter(
            "turnlog_agent_model_calls_total", "Answers of a model, by agent.", ["agent"]
        )
        self.agent_tokens = Counter(
            "turnlog_agent_tokens_total", "Tokens used, by agent.", ["agent", "kind"]
        )
        self.agent_cost = Counter(
            "turnlog_agent_cost_usd_total", "Dollars spent, where known, by agent.", ["agent"]
        )
        self.unpriced = Counter(
            "turnlog_unpriced_calls_total", "Model calls whose cost is unknown.", ["model"]
        )
        self.tool_calls = Counter("turnlog_tool_calls_total", "Tool calls answered.", ["outcome"])
        self.tool_seconds = Histogram(
            "turnlog_tool_duration_seconds", "How long tools took.", SECONDS
        )
        self.store_commits = Counter(
            "turnlog_store_commits_total", "Transactions of the writer.", ["outcome"]
        )
        self.store_jobs = Histogram(
            "turnlog_store_jobs_per_commit", "Writes that shared a transaction.", SIZES
        )
        self.store_queue = Gauge("turnlog_store_queue_depth", "Writes that wait for the writer.")
        self.open_streams = Gauge("turnlog_open_streams", "Clients that watch.", ["transport"])
        self.cpu = Counter("process_cpu_seconds_total", "User and system time of the process.")
        self.cpu.ask(time.process_time)
        self.memory = Gauge("process_resident_memory_bytes", "Memory of the process.")
        self.memory.ask(_resident_bytes)

    @contextmanager
    def watching(self, transport: str) -> Iterator[None]:
        """A client watches, for as long as this is open. `transport`: sse, socketio, …"""
        self.open_streams.add(1, transport)
        try:
            yield
        finally:
            self.open_streams.add(-1, transport)

    def page(self) -> str:
        """All of them, in the text form of Prometheus."""
        return render([m for m in vars(self).values() if isinstance(m, Metric)])


def _resident_bytes() -> float:
    """What it has now; where the system does not tell (macOS), the most it ever had."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
