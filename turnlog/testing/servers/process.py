"""A server that a test starts, kills and starts again. It ends with the process that made it."""

import contextlib
import ctypes
import os
import random
import select
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1  # prctl(2), Linux
_PORTS = range(10_000, 32_000)
_GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")  # Linux: to whoever calls


def free_port() -> int:
    """A port for a server that starts in a moment; until then no caller is given it."""
    given = range(*map(int, _GIVEN.read_text().split())) if _GIVEN.exists() else range(0)
    ports = [port for port in _PORTS if port not in given] or _PORTS
    while True:
        port = random.SystemRandom().choice(ports)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class ChildServer:
    """A process of ours, and how to know that it answers."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        answers: Callable[[], bool],
        *,
        env: dict[str, str] | None = None,
        user: str | None = None,
    ) -> None:
        self._command = command
        self._log = folder / "server.log"
        self._answers = answers
        self._env = env
        self._who: dict[str, Any] = (
            {"user": user, "group": "nogroup", "extra_groups": []} if user else {}
        )
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Returns when it answers. Raises RuntimeError if it ends before that."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                env=self._env,
                preexec_fn=_end_with_parent,
                **self._who,
            )
        while not self._answers():
            try:
                self.process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
            raise RuntimeError(f"{self._command[0]} ended:\n{self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        """kill -9, also for its own processes: none gets a chance to do anything.

        One of PostgreSQL's that is left alone would end by itself, but may answer once more first.
        """
        if self.process is not None and self.runs:
            self.pause()  # so that it makes no further ones
            children = _children(self.process.pid)
            self._end(signal.SIGKILL)
            for child in children:
                _kill(child)

    def stop(self) -> None:
        """At once, but in order: SIGQUIT for PostgreSQL, and Valkey takes it too."""
        self._end(signal.SIGQUIT)

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None and self.runs:
            self.process.send_signal(how)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _signal(self, how: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(how)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _children(parent: int) -> list[int]:
    """Handles of its processes: an id might be another's a moment later."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    handles = []
    for child in map(int, found):
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(child))
    return handles


def _kill(handle: int) -> None:
    """Returns when it has ended, and its connections with it."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    select.select([handle], [], [])
    os.close(handle)


def _end_with_parent() -> None:
    """Whoever is left alone ends: a killed test run leaves nothing behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
    if os.getppid() == 1:  # it died in between
        os._exit(1)
