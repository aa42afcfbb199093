"""`python -m bench.web`: what the web UI costs in a real Chromium.

A session of 1,000 messages is opened; an answer of 100 kB is streamed in 10,000 chunks; one with
code comes in a burst. Times of a shared machine say little: look at the ratio of the last tenth to
the first, and at the longest task, which is counted in CPU.
"""

import asyncio
import json
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from web.browser import chromium, tab
from web.office import MARKDOWN, office

from turnlog.simulator import Reply

MESSAGES = 1_000
CHUNKS, CHUNK = 10_000, 10  # of this many characters
ROUNDS = 5
STARTING = 100  # ms at the beginning of a trace
SLOW = 50  # ms: no task may take longer while an answer streams
# Notes when the last answer of the session is drawn.
WATCH = """
(function look() {
  if (document.body?.innerText.includes("LAST-WORD")) window.drawn = performance.now();
  else requestAnimationFrame(look);
})();
"""
LENGTH = "() => document.querySelector('.column').textContent.length"
TO_THE_END = """() => { const box = document.querySelector('.scroll');
  return Math.round(box.scrollHeight - box.clientHeight - box.scrollTop); }"""


@asynccontextmanager
async def page(*says):
    async with (
        chromium() as browser,
        office(*says, messages_a_minute=1_000_000) as here,
        tab(browser, here.url) as one,
    ):
        yield here, one


async def a_long_session() -> None:
    """From the navigation to the newest message in view."""
    says = [Reply(MARKDOWN) for _ in range(MESSAGES // 2 - 1)]
    async with page(*says, Reply(f"{MARKDOWN}\nLAST-WORD")) as (here, one):
        session = await here.session()
        for n in range(MESSAGES // 2):
            await here.app.run_turn(f"Question {n}", session_id=session)
        await one.page.add_init_script(WATCH)
        took = []
        for _ in range(ROUNDS + 1):  # the first one fills the caches
            await one.go(f"/s/{session}")
            await one.page.wait_for_function("() => window.drawn")
            took.append(await one.page.evaluate("window.drawn"))
        rows = await one.page.locator(".column *").count()
        end = await one.page.evaluate(TO_THE_END)
        say(
            f"open a session of {MESSAGES} messages, ms",
            f"{median(took[1:]):.0f}",
            spread(took[1:]),
        )
        say("  elements in the list; px from the end", str(rows), str(end))


async def a_long_answer() -> None:
    """CPU of the page's main thread for each tenth of the answer."""
    words = "The quick brown fox jumps over the lazy dog and **comes back** for more. "
    text = "\n\n".join(words * 6 for _ in range(CHUNKS * CHUNK // (len(words) * 6)))
    async with page(Reply(text, chunk=CHUNK, delay=0.001)) as (here, one):
        metrics = await one.page.context.new_cdp_session(one.page)
        await metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        await one.go(f"/s/{await here.session()}")
        await one.page.locator('[data-state="live"]').wait_for()
        await one.ask("Tell me")
        seen: list[tuple[int, float]] = []
        over = one.page.locator('.row[data-kind="footer"]')
        while not await over.count():
            seen.append((await one.page.evaluate(LENGTH), await busy(metrics)))
            await asyncio.sleep(0.05)
        tenths = [cost(seen, len(text) * n / 10, len(text) * (n + 1) / 10) for n in range(9)]
        say(f"CPU for 10 kB of {CHUNKS} chunks, ms: first", f"{tenths[0]:.0f}", "")
        say("  last; ratio", f"{tenths[-1]:.0f}", f"{tenths[-1] / tenths[0]:.2f}")


async def a_burst(folder: Path) -> None:
    """Tasks of the main thread while an answer with much code comes as fast as it can."""
    code = "\n".join(f"def f{n}(x):\n    return x + {n}  # a comment" for n in range(300))
    text = f"{MARKDOWN * 40}\n```python\n{code}\n```\n\nThe end.\n"
    async with page(Reply(text, chunk=CHUNK)) as (here, one):
        await one.go(f"/s/{await here.session()}")
        await one.page.locator('[data-state="live"]').wait_for()
        browser = one.page.context.browser
        await browser.start_tracing(page=one.page, path=folder / "trace", categories=["toplevel"])
        await asyncio.sleep(STARTING / 1000)
        await one.ask("Tell me")
        await one.ended()
        await one.page.locator(".hljs-keyword").nth(300).wait_for()  # it is coloured
        await browser.stop_tracing()
    took = tasks(json.loads((folder / "trace").read_bytes())["traceEvents"])
    say(
        f"tasks over {SLOW} ms of CPU in a burst of {len(text) // 1000} kB",
        str(sum(ms > SLOW for ms in took)),
        "",
    )
    say("  the longest; all, ms", f"{max(took):.0f}", f"{sum(took):.0f}")


def tasks(events) -> list[float]:
    """CPU of each task of the page's main thread, in ms. The first ones start the trace itself."""
    names = {
        (each["pid"], each["tid"]): each["args"]["name"]
        for each in events
        if each.get("name") == "thread_name"
    }
    found = [
        each
        for each in events
        if "RunTask" in each.get("name", "")
        and names.get((each["pid"], each["tid"])) == "CrRendererMain"
    ]
    begun = min(each["ts"] for each in found) + STARTING * 1000
    return [each.get("tdur", 0) / 1000 for each in found if each["ts"] > begun]


async def busy(metrics) -> float:
    found = (await metrics.send("Performance.getMetrics"))["metrics"]
    return next(each["value"] for each in found if each["name"] == "TaskDuration") * 1000


def cost(seen, begin, end) -> float:
    """Between two lengths of the text, for 10 kB."""
    first = min(seen, key=lambda each: abs(each[0] - begin))
    last = min(seen, key=lambda each: abs(each[0] - end))
    return (last[1] - first[1]) / max(1, last[0] - first[0]) * 10_000


def spread(values) -> str:
    return f"{min(values):.0f} to {max(values):.0f}"


def say(name: str, value: str, more: str) -> None:
    sys.stdout.write(f"{name:<52} {value:>8} {more:>12}\n")
    sys.stdout.flush()


async def main() -> None:
    await a_long_session()
    await a_long_answer()
    with tempfile.TemporaryDirectory() as folder:
        await a_burst(Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
