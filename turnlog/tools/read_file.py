"""The tool `read_file`: pages of a file that is told by its name, or in part.

Every agent can run it, for the files of the user who asks. It is offered only where there is
something to read: see `projections/history/attachments.py`.
"""

from turnlog.errors import ToolError, TurnlogError
from turnlog.events.search_results import SearchResult, SearchResults
from turnlog.ports import Attachments
from turnlog.projections.history.sources import source_of
from turnlog.tools.tool import Tool, ToolContext, tool

MOST_PAGES = 20  # in one call
NO_TEXT = "[This page has no text.]"
MOST_TEXT = 80_000  # characters in one call


def read_file_tool(files: Attachments) -> Tool:
    """The tool, on these files."""

    @tool(writes=False, approval="never")
    async def read_file(
        context: ToolContext, file_id: str, first_page: int = 1, last_page: int | None = None
    ) -> SearchResults:
        """Read pages of a file that the user has attached. Pages count from 1; up to 20 at once."""
        try:
            file = await files.get(context.user_id, file_id)
            last = min(last_page or first_page + MOST_PAGES - 1, file.pages or 1)
            wanted = range(first_page, min(last, first_page + MOST_PAGES - 1) + 1)
            if not wanted:
                raise ToolError(f"There is no page {first_page}: the file has {file.pages or 1}.")
            pages = await files.pages(context.user_id, file_id, wanted)
        except TurnlogError as error:
            raise ToolError(str(error)) from None
        found, room = [], MOST_TEXT
        for page in pages:
            text = page.text[: max(0, room)] or NO_TEXT
            room -= len(text)
            title = f"{file.name}, page {page.page}"
            found.append(SearchResult(source_of(file.id, page.page), title, [text]))
        return SearchResults(found)

    return read_file
