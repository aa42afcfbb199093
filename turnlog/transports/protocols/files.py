"""Files in other protocols: named by their address here, never brought along."""

import re
from collections.abc import Iterable

from turnlog.errors import BadInput

_ADDRESS = re.compile(r"(?:https?://[^/]+)?/api/files/([^/?#]+)(?:/content)?(?:[?#].*)?")


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
