"""What is in a file, found out by the processes that read."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnlog.errors import Unreadable
from turnlog.files.formats import FORMATS
from turnlog.files.workers import SECONDS as A_JOB
from turnlog.files.workers import Workers
from turnlog.ports.files import BY_MODEL, OnProgress
from turnlog.projections.history.attachments import SIDE

AT_A_TIME = 200  # pages of a PDF in one job: others get their turn in between, and see progress
AT_ONCE = 3  # such jobs of one PDF that wait for a reader: other files have their turn, too
SECONDS = 90.0  # of the processor, that all pages of one PDF may take
LONGEST = 600.0  # seconds by the clock, on a machine that has much else to do
Facts = dict[str, Any]


class Inspection:
    """Finds the facts of a file and writes the parts that are made of it."""

    def __init__(self, workers: Workers, side: int, most_pages: int) -> None:
        self._workers = workers
        self._side = side  # 0: by the model
        self._most_pages = most_pages

    async def inspect(
        self, media_type: str, path: Path, into: Path, on_progress: OnProgress
    ) -> Facts:
        """Fields of a File. Raises Unreadable."""
        match FORMATS[media_type].kind:
            case "image":
                return await self._image(media_type, path, into)
            case "pdf":
                return await self._pdf(path, into, on_progress)
        read = await self._workers.run("document", path=path, into=into, media_type=media_type)
        return {
            "pages": read["pages"],
            "text_length": read["textLength"],
            "metadata": read["metadata"],
        }

    async def _image(self, media_type: str, path: Path, into: Path) -> Facts:
        read = await self._workers.run(
            "image", path=path, into=into, media_type=media_type, fit=self._side or SIDE
        )
        if not self._side and max(read["width"], read["height"]) > SIDE:
            read["metadata"]["fitted"] = BY_MODEL
        return {
            "width": read["width"],
            "height": read["height"],
            "model_type": read["modelType"],
            "model_size": read["modelSize"],
            "metadata": read["metadata"],
        }

    async def _pdf(self, path: Path, into: Path, on_progress: OnProgress) -> Facts:
        read = await self._workers.run("pdf", path=path, most_pages=self._most_pages)
        pages: int = read["pages"]
        starts = range(1, pages + 1, AT_A_TIME)
        reading = _PdfText(self._workers, path, into, pages, on_progress)
        try:
            async with asyncio.timeout(LONGEST), asyncio.TaskGroup() as group:
                tasks = [group.create_task(reading.run(first)) for first in starts]
        except TimeoutError:
            raise too_slow(pages) from None
        except ExceptionGroup as several:
            raise several.exceptions[0] from None
        await asyncio.to_thread(_join, [reading.folder(first) for first in starts], into)
        metadata = read["metadata"]
        if reading.broken:
            metadata["pagesWithoutText"] = sorted(reading.broken)[:100]
        return {
            "pages": pages,
            "text_length": sum(task.result() for task in tasks),
            "metadata": metadata,
            "locked": read["locked"],
        }


def too_slow(pages: int) -> Unreadable:
    return Unreadable(f"Reading the {pages} pages of the PDF takes too long.")


class _PdfText:
    """The text of one PDF, some pages at a time."""

    def __init__(
        self, workers: Workers, path: Path, into: Path, pages: int, on_progress: OnProgress
    ) -> None:
        self._workers = workers
        self._path = path
        self._into = into
        self._pages = pages
        self._done = 0
        self._seconds = 0.0  # of the processor
        self._few = asyncio.Semaphore(AT_ONCE)
        self._on_progress = on_progress
        self.broken: list[int] = []

    def folder(self, first: int) -> Path:
        return self._into / f"from-{first}"

    async def run(self, first: int) -> int:
        """How many characters the pages have from `first` on."""
        last = min(first + AT_A_TIME - 1, self._pages)
        folder = self.folder(first)
        folder.mkdir()
        try:
            async with self._few:
                if self._seconds > SECONDS:
                    raise too_slow(self._pages)
                read = await self._workers.run(
                    "pdf_text", path=self._path, into=folder, first=first, last=last
                )
        except Unreadable:  # a page that crashes or hangs its reader: these have no text
            if self._seconds > SECONDS:
                raise
            read = {"textLength": 0, "broken": list(range(first, last + 1)), "seconds": A_JOB}
            (folder / "text").write_bytes(b'""\n' * (last - first + 1))
        self._seconds += read["seconds"]
        self.broken += read["broken"]
        self._done += last - first + 1
        self._on_progress(self._done, self._pages)
        return int(read["textLength"])


def _join(folders: Sequence[Path], into: Path) -> None:
    with (into / "text").open("xb") as whole:
        for folder in folders:
            whole.write((folder / "text").read_bytes())
