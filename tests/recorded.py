"""Recorded streams of the Messages API: our own always, and those beside the project if any.

Ours are in `recordings/`, which `python tests/recordings/write.py` writes. A folder
`shared/captures` above the project may hold streams that others have recorded.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = ROOT / "tests" / "recordings"


def beside_the_project(*parts):
    """Paths below `shared` in every folder above the project, the nearest first."""
    return [above.joinpath("shared", *parts) for above in ROOT.parents]


SHARED = [path for path in beside_the_project("captures") if path.is_dir()][:1]
FOLDERS = [OURS, *SHARED]


def recordings(pattern):
    """Files of all folders: ours first."""
    return [path for folder in FOLDERS for path in sorted(folder.rglob(pattern))]


STREAMS = recordings("*.sse")
REQUESTS = recordings("*.request.json")


def is_ours(path):
    return path.is_relative_to(OURS)


def name(path):
    """As `ours/thinking/signed`, for the names of tests."""
    parts = ("ours", path.relative_to(OURS)) if is_ours(path) else (path.relative_to(SHARED[0]),)
    return str(Path(*parts)).removesuffix(".sse")


def each(paths):
    """A test for each recording; those of others are left out of `make quick`."""
    slow = pytest.mark.slow
    return [pytest.param(p, id=name(p), marks=() if is_ours(p) else slow) for p in paths]
