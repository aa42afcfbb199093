"""`turnlog new`: a small project that runs and is tested, to begin from."""

import argparse
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from turnlog.commands.shared import Add, say
from turnlog.errors import ConfigError

TEMPLATE = files("turnlog.commands") / "project"
GITIGNORE = ".venv/\n__pycache__/\n.pytest_cache/\nturnlog-data/\n"  # packages drop such a file


def new(args: argparse.Namespace) -> int:
    """Write a small assistant with two tools and its tests into a new folder."""
    place = Path(args.folder)
    name = re.sub(r"[^a-z0-9]+", "-", place.name.lower()).strip("-")
    if not name:
        raise ConfigError(f"{args.folder!r} is no name for a project: use letters and digits.")
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise ConfigError(f"{args.folder!r} is there already. Name a folder that is not.")
    try:
        _write(TEMPLATE, place, name)
        (place / ".gitignore").write_text(GITIGNORE)
    except OSError as error:
        raise ConfigError(f"{args.folder!r} cannot be written: {error.strerror}.") from None
    say(f"{place} is there. Its README.md says how to run it; begin with assistant.py.")
    return 0


def _write(source: Traversable, place: Path, name: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for each in source.iterdir():
        if each.is_dir() and not each.name.startswith("_"):
            _write(each, place / each.name, name)
        elif each.is_file():
            (place / each.name).write_text(each.read_text("utf-8").replace("NAME", name), "utf-8")


def register(add: Add) -> None:
    add(new).add_argument("folder", metavar="FOLDER", help="a new folder, such as my-assistant")
