"""The pages of files as sources of a search result: `file:ID#page=N`."""

import re

_OF_A_FILE = re.compile(r"file:([\w-]{1,100})(?:#page=(\d{1,7}))?")


def source_of(file_id: str, page: int) -> str:
    """The source that names a page of a file."""
    return f"file:{file_id}#page={page}"


def page_of(source: str) -> tuple[str, int] | None:
    """The file and the page that a source names, if it is one of ours."""
    match = _OF_A_FILE.fullmatch(source)
    return (match[1], int(match[2] or 1)) if match else None
