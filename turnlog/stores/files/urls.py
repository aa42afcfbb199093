"""Where the bytes of files are, by URL: `file:FOLDER` and `s3://BUCKET/PREFIX`. One row a kind."""

from collections.abc import Callable
from pathlib import Path

from turnlog.errors import ConfigError
from turnlog.ports import Blobs
from turnlog.stores.files.folder import FolderBlobs, TemporaryBlobs


def blobs_beside(store_url: str, url: str | None, data: str) -> Blobs:
    """At `url`; else beside the log: gone with a store in memory, in `files/` with any other."""
    scheme, _, rest = store_url.partition(":")
    if url is None:
        if scheme == "memory":
            return TemporaryBlobs()
        folder = Path(rest if scheme == "sqlite" else data) / "files"
        return FolderBlobs(folder, alone=scheme == "sqlite")
    kind, colon, place = url.partition(":")
    if not colon or kind not in KINDS:
        raise ConfigError(f"{url!r} is no place for files. There are: {', '.join(EXAMPLES)}.")
    return KINDS[kind](place, scheme == "sqlite", Path(rest if scheme == "sqlite" else data))


def archives_beside(store_url: str, url: str | None, data: str) -> Blobs:
    """Where contents of closed sessions are: in the folder of SQLite, else beside the files."""
    scheme, _, rest = store_url.partition(":")
    if scheme == "sqlite" or url is None:
        return FolderBlobs(Path(rest if scheme == "sqlite" else data) / "archives", alone=False)
    return blobs_beside(store_url, f"{url.rstrip('/')}/archives", data)


def _folder(place: str, alone: bool, data: Path) -> Blobs:
    if not place or place.startswith("//"):
        raise ConfigError("A folder for files is named like file:FOLDER, or file:/absolute/FOLDER.")
    return FolderBlobs(place, alone=alone)


def _s3(place: str, alone: bool, data: Path) -> Blobs:
    from turnlog.stores.files.s3 import S3Blobs

    bucket, _, prefix = place.removeprefix("//").partition("/")
    if not place.startswith("//") or not bucket:
        raise ConfigError("A bucket for files is named like s3://BUCKET or s3://BUCKET/PREFIX.")
    return S3Blobs(bucket, prefix, FolderBlobs(data / "files", alone=alone))


KINDS: dict[str, Callable[[str, bool, Path], Blobs]] = {"file": _folder, "s3": _s3}
EXAMPLES = ("file:FOLDER", "s3://BUCKET/PREFIX")
