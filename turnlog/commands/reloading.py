"""`turnlog serve --reload`: the server runs in a process of its own, which is started again
whenever a file changes. For development: a turn that runs is ended.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

from turnlog.commands.shared import say
from turnlog.config import Settings

LOOKS = 0.5  # seconds between two looks at the files
STOPS_WITHIN = 15.0  # seconds that the old server has
MOST_FILES = 20_000
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages"})
Seen = dict[str, int]  # path -> when it was changed


def run_again_and_again(settings: Settings) -> int:
    """Until a signal comes. A server that does not start is started again after a change."""
    command = [sys.executable, "-m", "turnlog", *(arg for arg in sys.argv[1:] if arg != "--reload")]
    folders = (Path.cwd(), Path(settings.data).absolute())
    env = os.environ | {"TURNLOG_GRACE": "0"}
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the server must not outlive us
    try:
        while True:
            seen = look(*folders)
            server = subprocess.Popen(command, env=env)
            try:
                changed = _wait_for_change(seen, folders)
            finally:
                _stop(server)
            _forget(changed)
            first = os.path.relpath(min(changed), folders[0])
            say(f"turnlog: {first} has changed, starting again")
    except KeyboardInterrupt:
        return 0


def look(folder: Path, data: Path) -> Seen:
    """Every Python file and turnlog.toml under the folder, but for what is hidden or installed."""
    return {str(path): path.stat().st_mtime_ns for path in _files(folder, data)}


def _files(folder: Path, data: Path) -> Iterator[Path]:
    count = 0
    for place, folders, names in os.walk(folder):
        hidden = {name for name in folders if name.startswith(".") or name in _LEFT_OUT}
        kept = [name for name in folders if name not in hidden and Path(place, name) != data]
        folders[:] = kept
        for name in names:
            if name.endswith(".py") or name == "turnlog.toml":
                count += 1
                if count > MOST_FILES:
                    return
                yield Path(place, name)


def _wait_for_change(seen: Seen, folders: tuple[Path, Path]) -> set[str]:
    """The files that have changed, come or gone."""
    while True:
        time.sleep(LOOKS)
        now = look(*folders)
        if now != seen:
            return {path for path, _ in now.items() ^ seen.items()}


def _forget(changed: Collection[str]) -> None:
    """What Python has compiled of them. It goes by the second and the size of a file, so that a
    second change within a second may be taken for the first.
    """
    for path in changed:
        if path.endswith(".py"):
            with suppress(OSError):
                os.unlink(cache_from_source(path))


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(STOPS_WITHIN)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
