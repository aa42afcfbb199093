"""Large files beside fifty chats: how long each takes, and what the chats notice of it.

    .venv/bin/python -m bench.files [--rounds 3]

A real server in a process of its own, a simulated Claude that writes at an even pace, and one
upload at a time: a photo of 9 MB, a scan of 45 MB, and 45 MB of dense text. Says how long each
took, on the clock and on the processor, the gaps between two events that the chats saw, and the
memory of the server's processes.
"""

import argparse
import asyncio
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import aiohttp
from PIL import Image

from turnlog.simulator import Reply, SimulatedClaude
from turnlog.testing import made_files
from turnlog.testing.server import ServerProcess, serving

CHATS = 50
PACE = 0.1  # seconds between two pieces of an answer
WORDS = "word " * 4000


def photo(size: tuple[int, int], quality: int = 95) -> bytes:
    return made_files.noise("JPEG", size, quality=quality)


def scan(pages: int, each: bytes) -> bytes:
    picture = Image.open(io.BytesIO(each))
    out = io.BytesIO()
    picture.save(out, "PDF", save_all=True, append_images=[picture] * (pages - 1), quality=92)
    return out.getvalue()


def dense(pages: int, number: int = 0) -> bytes:
    """Every number is another content: the same one is read once."""
    line = f"The quick brown fox number {number} jumps over the lazy dog to the river. "
    return made_files.pdf(*("\n".join(f"{n} {line}" for n in range(62)) for _ in range(pages)))


class Chats:
    """Fifty people who read answers as they come."""

    def __init__(self) -> None:
        self.gaps: list[float] = []

    async def read(self, http: aiohttp.ClientSession, started: asyncio.Semaphore) -> None:
        async with http.post("/api/sessions") as response:
            session = (await response.json())["id"]
        path, accept = f"/api/sessions/{session}/messages", {"accept": "text/event-stream"}
        async with http.post(path, json={"message": "Go on."}, headers=accept) as response:
            started.release()
            last = time.monotonic()
            async for _ in response.content.iter_any():
                now = time.monotonic()
                self.gaps.append(now - last)
                last = now

    def told(self) -> str:
        """The gaps since the last look."""
        gaps, self.gaps = sorted(self.gaps), []
        if not gaps:
            return "none"
        median, longest = gaps[len(gaps) // 2] * 1000, gaps[-1] * 1000
        return f"median {median:.0f} ms, longest {longest:.0f} ms"


class Read(NamedTuple):
    """What one upload took."""

    clock: float  # seconds
    processor: float  # seconds of the readers
    steps: int  # of progress
    facts: dict[str, object]


async def upload(
    http: aiohttp.ClientSession, server: ServerProcess, route: str, name: str, content: bytes
) -> Read:
    async with http.post("/api/sessions") as response:
        session = (await response.json())["id"]
    form = aiohttp.FormData()
    form.add_field("file", io.BytesIO(content), filename=name)
    accept = {"accept": "text/event-stream"}
    path = f"/api/sessions/{session}/files{route}"
    worked, began = processor(server), time.monotonic()
    async with http.post(path, data=form, headers=accept) as response:
        text = await response.text()
    took = time.monotonic() - began
    frames = [frame for frame in text.split("\n\n") if frame]
    kind, data = frames[-1].split("\n")
    assert kind == "event: file", frames[-1]
    facts = json.loads(data.removeprefix("data: "))
    told = {key: facts[key] for key in ("dimensions", "pages", "textLength") if key in facts}
    return Read(took, processor(server) - worked, len(frames) - 1, told)


def readers(server: ServerProcess) -> list[str]:
    pid = server.process.pid
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def processor(server: ServerProcess) -> float:
    """Seconds that the readers which live now have worked."""
    ticks = 0
    for each in readers(server):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(server: ServerProcess) -> str:
    """Of the server and of its readers, in MB."""
    sizes = []
    for each in (str(server.process.pid), *readers(server)):
        status = Path(f"/proc/{each}/status").read_text()
        peak = [line for line in status.splitlines() if line.startswith("VmHWM")][0]
        sizes.append(f"{int(peak.split()[1]) // 1024}")
    return " + ".join(sizes)


def made(number: int) -> dict[str, tuple[str, str, bytes]]:
    return {
        "photo": ("", "photo.jpg", photo((3440, 2300))),
        "scan": ("/pdf", "scan.pdf", scan(56, photo((1000, 900)))),
        "text": ("/pdf", "text.pdf", dense(8700, number)),
    }


async def main(rounds: int) -> None:
    say = sys.stdout.write
    sim = SimulatedClaude(answer=lambda body: Reply(WORDS), pace=PACE)
    with tempfile.TemporaryDirectory() as folder:
        connector = aiohttp.TCPConnector(limit=0)
        env = {"TURNLOG_TURNS_AT_ONCE": "100", "TURNLOG_MESSAGES_A_MINUTE": "1000"}
        async with (
            sim.serve() as claude,
            serving(Path(folder), claude, env=env | {"TURNLOG_LOG_LEVEL": "warning"}) as server,
            aiohttp.ClientSession(server.url, connector=connector) as http,
        ):
            chats, started = Chats(), asyncio.Semaphore(0)
            reading = [asyncio.create_task(chats.read(http, started)) for _ in range(CHATS)]
            for _ in reading:
                await started.acquire()
            # The readers are there after this one.
            await upload(http, server, "", "small.png", made_files.picture())
            await asyncio.sleep(2)
            chats.told()
            await asyncio.sleep(5)
            say(f"alone   gaps of {CHATS} chats: {chats.told()}\n")
            for number in range(rounds):
                files = await asyncio.to_thread(made, number)
                chats.told()
                for name, (route, called, content) in files.items():
                    read = await upload(http, server, route, called, content)
                    gaps = chats.told()
                    say(f"{name:7} {len(content) / 1e6:.1f} MB: {read.clock:.2f} s, ")
                    say(f"{read.processor:.2f} s of the processor, {read.steps} steps of progress,")
                    say(f" {read.facts}\n        gaps: {gaps}\n")
                    sys.stdout.flush()
            say(f"memory at its peak, server and readers: {memory(server)} MB\n")
            say(f"load of the machine: {os.getloadavg()[0]:.1f}\n")
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    asyncio.run(main(parser.parse_args().rounds))
