"""A copy of a data folder, made while a server may be working there."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from turnlog.errors import ConfigError, NotFound
from turnlog.stores.sqlite.files import make_private

# What a running server keeps for itself. A copy has no server.
_OF_A_SERVER = {"server.lock", "opening.lock", "owners"}
_COMPANIONS = ("-wal", "-shm", "-journal")


def back_up(source: Path, target: Path) -> None:
    """Copy the databases as they are at one moment each, then the files beside them.

    Files come after the rows that name them, so a row of the copy finds its file.
    """
    if not (source / "turnlog.db").is_file():
        raise NotFound(f"There is no turnlog database in {str(source)!r}.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(f"{str(target)!r} is not empty. Name a new folder for the copy.")
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = [each for each in sorted(source.iterdir()) if each.name not in _OF_A_SERVER]
    for each in [each for each in found if each.suffix == ".db"]:
        _copy_database(each, target / each.name)
    for each in found:
        if each.suffix != ".db" and not each.name.endswith(_COMPANIONS):
            (shutil.copytree if each.is_dir() else shutil.copy2)(each, target / each.name)


def _copy_database(source: Path, target: Path) -> None:
    make_private(target)
    address = f"file:{quote(str(source.resolve()))}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=30)) as db,
        closing(sqlite3.connect(target)) as copy,
    ):
        db.backup(copy)
