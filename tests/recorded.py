"""Recorded streams of the Messages API: our own always, and those beside the project if any.

Ours are in `recordings/`, which `python tests/recordings/write.py` writes. A folder
`shared/captures` above the project may hold streams that others have recorded.
"""

from pathlib import Path

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


def name(path):
    """As `ours/thinking/signed`, for the names of tests."""
    if path.is_relative_to(OURS):
        return f"ours/{path.relative_to(OURS)}".removesuffix(".sse")
    return str(path.relative_to(SHARED[0])).removesuffix(".sse")
