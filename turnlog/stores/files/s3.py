"""Files in an S3-compatible object storage: `PREFIX/OWNER/SHA256/part`.

Credentials, region and endpoint are those of the environment (AWS_ACCESS_KEY_ID, AWS_REGION,
AWS_ENDPOINT_URL, …), as every program reads them. What comes in waits in a folder of this machine:
an object is put as a whole, or not at all.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from turnlog.errors import ConfigError, NotFound, NotStored, StoreUnusable
from turnlog.ports import Part, Stored
from turnlog.ports.files import Chunks
from turnlog.stores.files.folder import PIECE, FolderBlobs, gone

PARTS = ("model", "text", "original")
SILENCE = 30  # seconds until a storage that says nothing is given up, all tries together
TRANSFER = 300  # seconds that one may take that goes on


class S3Blobs:
    """Blobs in a bucket."""

    def __init__(self, bucket: str, prefix: str, incoming: FolderBlobs) -> None:
        if find_spec("obstore") is None:
            raise ConfigError("Object storage needs the extra 's3': pip install 'turnlog[s3]'.")
        self._bucket = bucket
        self._prefix = prefix.strip("/")
        self._incoming = incoming
        self._objects: Any = None

    @property
    def url(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    @property
    def _store(self) -> Any:
        if self._objects is None:
            from obstore.store import S3Store

            self._objects = S3Store(
                self._bucket,
                prefix=self._prefix or None,
                virtual_hosted_style_request=False,
                # Not as `client_options`: those of the environment would not count any more.
                read_timeout=f"{SILENCE}s",
                timeout=f"{TRANSFER}s",
                retry_config={"retry_timeout": timedelta(seconds=SILENCE)},
            )
        return self._objects

    async def open(self) -> None:
        """One look into the bucket, so that a wrong name or key is told at the start."""
        from obstore import list_with_delimiter_async

        await self._incoming.open()
        try:
            await list_with_delimiter_async(self._store)
        except Exception as error:
            raise StoreUnusable(
                f"The object storage {self.url!r} does not answer. Look at AWS_ENDPOINT_URL,"
                f" AWS_REGION and the keys. {type(error).__name__}."
            ) from error

    async def close(self) -> None:
        """Nothing is held."""

    def incoming(self) -> AbstractAsyncContextManager[Path]:
        return self._incoming.incoming()

    async def put(self, place: str, part: Part, file: Path) -> None:
        from obstore import put_async

        with _reaching():
            await put_async(self._store, f"{place}/{part}", file)

    async def has(self, place: str, part: Part) -> bool:
        from obstore import head_async

        try:
            with _reaching():
                await head_async(self._store, f"{place}/{part}")
        except NotFound:
            return False
        return True

    async def read(self, place: str, part: Part) -> bytes:
        from obstore import get_async

        with _reaching():
            found = await get_async(self._store, f"{place}/{part}")
            return bytes(await found.bytes_async())

    async def stream(
        self, place: str, part: Part, start: int = 0, end: int | None = None
    ) -> Chunks:
        from obstore import get_async

        some: Any = {"range": {"offset": start}} if start else {}
        if end is not None:
            some = {"range": (start, end)}
        with _reaching():
            found = await get_async(self._store, f"{place}/{part}", options=some)
            async for chunk in found.stream(min_chunk_size=PIECE):
                yield bytes(chunk)

    @asynccontextmanager
    async def local(self, place: str, part: Part) -> AsyncIterator[Path]:
        async with self.incoming() as folder:
            path = folder / part
            with path.open("wb") as copy:
                async for chunk in self.stream(place, part):
                    copy.write(chunk)
            yield path

    async def delete(self, place: str) -> None:
        from obstore import delete_async

        with _reaching():
            await delete_async(self._store, [f"{place}/{part}" for part in PARTS])

    async def every(self) -> AsyncIterator[Stored]:
        """Keys come in order, so that the parts of a place stand together."""
        from obstore import list as list_objects

        found: dict[str, Any] = {}
        with _reaching():
            async for batch in list_objects(self._store):
                known = len(found)
                found |= {str(each["path"]): each for each in batch}
                if batch and len(found) == known:
                    raise NotStored("The storage of files lists the same ones without end.")
        keyed = [found[path] for path in sorted(found) if path.count("/") == 2]
        for place, objects in groupby(keyed, lambda each: str(each["path"]).rpartition("/")[0]):
            parts = list(objects)
            newest = max(each["last_modified"] for each in parts)
            seconds = (datetime.now(UTC) - newest).total_seconds()
            names = frozenset(str(each["path"]).rpartition("/")[2] for each in parts)
            yield Stored(place, seconds, names)


@contextmanager
def _reaching() -> Iterator[None]:
    """What the storage says, in our words. Its messages have addresses in them."""
    try:
        yield
    except FileNotFoundError:
        raise gone() from None
    except NotFound:
        raise
    except Exception as error:
        if isinstance(error, OSError) or type(error).__module__.startswith("obstore"):
            raise NotStored("The storage of files does not answer. Try again later.") from error
        raise
