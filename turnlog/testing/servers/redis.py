"""Redis 7 for tests, beside Valkey: from PATH, or from packages of the system that has apt.

    python -m turnlog.testing.servers.redis FOLDER

unpacks them into the folder. Nothing is installed, no service starts, and it needs no root.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = 7
PACKAGES = ("redis-server", "redis-tools", "liblzf1", "libjemalloc2", "libatomic1")
UNPACKED = Path(sys.prefix) / "redis"
PATIENCE = 120.0  # seconds for apt, which may have no network
QUICK = ("-o", "Acquire::http::Timeout=10", "-o", "Acquire::Retries=1")


def redis_server() -> list[str] | None:
    """How a Redis from 7 on is started here; None if there is none."""
    for command in ([shutil.which("redis-server") or ""], _unpacked(UNPACKED)):
        if command[0] and _version(command) >= OLDEST:
            return command
    return None


def unpack(folder: Path) -> str:
    """Returns what became of it, in a sentence."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return "There is no apt here, so the tests run on Valkey alone, without Redis."
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if not _download(folder):
            _download(folder, *_own_lists(folder))
        for package in folder.glob("*.deb"):
            _run(folder, "dpkg", "-x", package.name, ".")
            package.unlink()
    except (OSError, subprocess.SubprocessError) as error:
        return f"apt gave no Redis, so the tests run on Valkey alone: {error}"
    version = _version(_unpacked(folder))
    if version < OLDEST:
        return "apt has no Redis 7 that runs here, so the tests run on Valkey alone."
    return f"Redis {version} is in {folder}; the tests run on it and on Valkey."


def _download(folder: Path, *options: str) -> bool:
    done = _run(folder, "apt-get", *QUICK, *options, "download", *PACKAGES, check=bool(options))
    return done.returncode == 0


def _own_lists(folder: Path) -> tuple[str, ...]:
    """For a system whose lists of packages are empty, as in a small container."""
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    options = ("-o", f"Dir::State::lists={folder.absolute() / 'lists'}")
    _run(folder, "apt-get", *QUICK, *options, "update")
    return options


def _run(folder: Path, *command: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=folder, check=check, capture_output=True, timeout=PATIENCE)


def _unpacked(folder: Path) -> list[str]:
    libraries = ":".join(map(str, (folder / "usr" / "lib").glob("*-linux-*")))
    program = folder / "usr" / "bin" / "redis-server"
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(program)] if program.exists() else [""]


def _version(command: list[str]) -> int:
    """Its first number; zero if it does not start."""
    if not command[0]:
        return 0
    done = subprocess.run([*command, "--version"], capture_output=True, text=True)
    found = re.search(r"v=(\d+)", done.stdout)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    sys.stdout.write(unpack(Path(sys.argv[1])) + os.linesep)
