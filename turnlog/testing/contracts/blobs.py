"""What every place for the bytes of files promises."""

import asyncio

import pytest

from turnlog.errors import NotFound
from turnlog.ports import Blobs

PLACE = "a" * 32 + "/" + "b" * 64
OTHER = "a" * 32 + "/" + "c" * 64


class BlobsContract:
    """Give it a fixture `blobs`, open."""

    async def put(self, blobs: Blobs, content: bytes, place: str = PLACE) -> None:
        async with blobs.incoming() as folder:
            (folder / "x").write_bytes(content)
            await blobs.put(place, "original", folder / "x")

    async def test_what_was_put_is_given_out_whole_in_pieces_and_as_a_file(
        self, blobs: Blobs
    ) -> None:
        content = bytes(range(256)) * 4000
        await self.put(blobs, content)
        assert await blobs.has(PLACE, "original")
        assert await blobs.read(PLACE, "original") == content
        assert b"".join([piece async for piece in blobs.stream(PLACE, "original")]) == content
        async with blobs.local(PLACE, "original") as path:
            assert path.read_bytes() == content

    async def test_some_of_its_bytes_are_given_out(self, blobs: Blobs) -> None:
        content = bytes(range(256)) * 4000
        await self.put(blobs, content)
        for start, end in ((0, 1), (255, 600_000), (1_023_999, 1_024_000), (5, None)):
            pieces = [piece async for piece in blobs.stream(PLACE, "original", start, end)]
            assert b"".join(pieces) == content[start:end]

    async def test_what_is_put_again_is_replaced(self, blobs: Blobs) -> None:
        for content in (b"one", b"two"):
            await self.put(blobs, content)
        assert await blobs.read(PLACE, "original") == b"two"

    async def test_what_is_not_there_is_not_found(self, blobs: Blobs) -> None:
        await self.put(blobs, b"x", OTHER)
        assert not await blobs.has(PLACE, "original")
        assert not await blobs.has(OTHER, "model")
        with pytest.raises(NotFound):
            await blobs.read(PLACE, "original")
        with pytest.raises(NotFound):
            [piece async for piece in blobs.stream(PLACE, "original")]
        with pytest.raises(NotFound):
            async with blobs.local(PLACE, "original"):
                pass

    async def test_a_deleted_place_is_empty_and_others_stay(self, blobs: Blobs) -> None:
        await self.put(blobs, b"x")
        await self.put(blobs, b"y", OTHER)
        await blobs.delete(PLACE)
        await blobs.delete(PLACE)
        assert not await blobs.has(PLACE, "original")
        assert [stored.place async for stored in blobs.every()] == [OTHER]

    async def test_every_place_is_told_with_its_parts(self, blobs: Blobs) -> None:
        await self.put(blobs, b"x")
        async with blobs.incoming() as folder:
            (folder / "t").write_bytes(b"t")
            await blobs.put(PLACE, "text", folder / "t")
        (stored,) = [each async for each in blobs.every()]
        assert (stored.place, sorted(stored.parts)) == (PLACE, ["original", "text"])
        assert -5 < stored.seconds < 600

    async def test_a_folder_for_what_comes_in_is_empty_and_gone_afterwards(
        self, blobs: Blobs
    ) -> None:
        async with blobs.incoming() as folder:
            assert not list(folder.iterdir())
            (folder / "x").write_bytes(b"x")
        assert not await asyncio.to_thread(folder.exists)
