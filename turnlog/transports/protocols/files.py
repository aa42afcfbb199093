"""Files in other protocols: named by their address, never brought along."""

import re
from collections.abc import Iterable
from typing import Any

from turnlog.errors import BadInput

_ADDRESS = re.compile(r"(?:https?://[^/]+)?/api/files/([^/?#]+)(?:/content)?(?:[?#].*)?")


def address(file: dict[str, Any]) -> str:
    """Where a file of a question is, as `file_ids` reads it."""
    return f"/api/files/{file['id']}/content"


def is_image(file: dict[str, Any]) -> bool:
    return str(file.get("mediaType", "")).startswith("image/")


def file_ids(addresses: Iterable[str]) -> list[str]:
    """The ids in addresses of our files. Raises BadInput for any other address."""
    found = []
    for address in addresses:
        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise BadInput(
                "Upload the file first (POST /api/sessions/{id}/files), then send its address: "
                "/api/files/{id}/content."
            )
        found.append(match[1])
    return found
