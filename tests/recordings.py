"""Where the recorded streams of the real API are, if they are here. They are no part of turnlog."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACES = [above / "shared" / "captures" for above in ROOT.parents]
CAPTURES = next((place for place in PLACES if place.exists()), None)
STREAMS = sorted(CAPTURES.rglob("*.sse")) if CAPTURES else []  # none: their tests are skipped


def name(path):
    return str(path.relative_to(CAPTURES)).removesuffix(".sse")
