"""Pictures that are made when a model is told of a file: a large image, the pages of a scan.

They are not kept: the same file gives the same pictures, and few are asked for twice.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from turnlog.errors import Unreadable
from turnlog.files.sweep import place_of
from turnlog.files.workers import Workers
from turnlog.ports import Blobs, File
from turnlog.projections.history.attachments import LARGE_SIDE, MOST_OF_A_PICTURE, SIDE

AT_A_TIME = 4  # pages in one job


class Picture(NamedTuple):
    media_type: str
    content: bytes


class Pictures:
    """Asks the readers for them."""

    def __init__(self, blobs: Blobs, workers: Workers) -> None:
        self._blobs = blobs
        self._workers = workers

    async def large(self, file: File) -> Picture:
        """An image as large as some models read it. Raises NotFound or Unreadable."""
        async with self.job(file) as (original, folder):
            made = await self._workers.run(
                "image", path=original, into=folder, media_type=file.media_type, fit=LARGE_SIDE
            )
            content = await asyncio.to_thread((folder / "model").read_bytes)
        return Picture(made["modelType"], content)

    async def of_pages(self, file: File, last: int) -> bytes:
        """A small PDF with pictures of the pages up to `last`. One that cannot be drawn is white.
        Raises NotFound or Unreadable.
        """
        pages = list(range(1, last + 1))
        sizes = {"side": SIDE, "most": MOST_OF_A_PICTURE}
        async with self.job(file) as (original, folder):
            for first in range(0, last, AT_A_TIME):
                some = pages[first : first + AT_A_TIME]
                with suppress(Unreadable):  # a page that crashes its reader: the others stay
                    await self._workers.run(
                        "pdf_pictures", path=original, into=folder, pages=some, **sizes
                    )
            await self._workers.run("pdf_bind", into=folder, pages=pages)
            return await asyncio.to_thread((folder / "bound.pdf").read_bytes)

    @asynccontextmanager
    async def job(self, file: File) -> AsyncIterator[tuple[Path, Path]]:
        """Its original, and a folder for what comes of it."""
        async with (
            self._blobs.local(place_of(file), "original") as original,
            self._blobs.incoming() as folder,
        ):
            yield original, folder
