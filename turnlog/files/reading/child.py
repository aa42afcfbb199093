"""The worker process: reads one job a line, and answers it in lines.

It has no secrets in its environment, little memory, and it dies with the server. A job that
crashes or hangs it costs nobody anything but that job: `workers.py` starts another one.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turnlog.files.reading import images, pdfs
from turnlog.files.reading.refusal import Refused

MOST_FILE = 300_000_000  # bytes that one output file may have
MOST_SECONDS = 6.0  # of the processor, for one document: others wait for this process
FULL = (errno.ENOSPC, errno.EDQUOT)
KINDNESS = 5  # chats go first
Answer = dict[str, Any]


def _document(path: Path, into: Path, media_type: str) -> Answer:
    """Documents are read by loops, which can be ended. What is written in C ends by the clock."""
    from turnlog.files.reading import documents  # it needs more libraries than most files do

    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        return documents.read(path, into, media_type)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _too_slow(number: int, frame: object) -> None:
    raise Refused("The file cannot be read: it takes too long.")


JOBS: dict[str, Callable[..., Answer]] = {
    "image": images.read,
    "image_thumbnail": images.thumbnail,
    "pdf": pdfs.read,
    "pdf_text": pdfs.text,
    "pdf_thumbnail": pdfs.thumbnail,
    "pdf_pictures": pdfs.pictures,
    "pdf_bind": pdfs.bind,
    "pdf_extract": pdfs.extract,
    "document": _document,
}


def answer(line: bytes) -> Answer:
    """One job: `{"job": NAME, "path": …, "into"?: …, …}`."""
    job = json.loads(line)
    work = JOBS[job.pop("job")]
    paths = {name: Path(job.pop(name)) for name in ("path", "into") if name in job}
    try:
        return {"result": work(**paths, **job)}
    except (Refused, MemoryError, OSError) as error:
        return {"full": True} if _is_full(error) else {"refused": _sentence(error)}


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "Reading the file takes more memory than it may have."
    if isinstance(error, OSError):  # what libraries raise for damage
        return f"The file cannot be read ({type(error).__name__})."
    return str(error)


def _is_full(error: BaseException | None) -> bool:
    """Whether the disk is, and the file is not to blame."""
    if error is None:
        return False
    return getattr(error, "errno", None) in FULL or _is_full(error.__cause__)


def main() -> None:
    memory = int(sys.argv[1])
    _die_with_parent()
    os.nice(KINDNESS)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE, MOST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGVTALRM, _too_slow)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # libraries that print do not answer jobs
    for line in sys.stdin.buffer:
        out.write(json.dumps(answer(line)).encode() + b"\n")


def _die_with_parent() -> None:
    """Where the system can: Linux. Elsewhere it ends when its input does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    main()
