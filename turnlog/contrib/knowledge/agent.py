"""The agent that answers from the library, with citations."""

from typing import Annotated

from msgspec import Meta

from turnlog.contrib.knowledge.document import Found
from turnlog.contrib.knowledge.shelves import Shelves
from turnlog.events.search_results import SearchResult, SearchResults
from turnlog.ports import Agent
from turnlog.tools.tool import Tool, ToolContext, tool

MOST_RESULTS = 6
Query = Annotated[str, Meta(min_length=1, max_length=1_000, description="What to look for")]
PROMPT = """\
You answer from the documents of the user and the user's teams. Call search_documents before you say
anything about them, with the words that a document would use; search again with other words if the
results do not fit. Say only what the results say, and cite them. If they do not answer the
question, say that the documents do not tell, and answer nothing else. Answer briefly.
"""


def knowledge_agent(shelves: Shelves) -> Agent:
    return Agent(
        "knowledge",
        description="The documents of the user and of the user's teams, with citations.",
        prompt=PROMPT,
        tools=tools(shelves),
    )


def tools(shelves: Shelves) -> list[Tool]:
    @tool(writes=False, title="Search the documents")
    async def search_documents(query: Query, context: ToolContext) -> SearchResults:
        """Find passages in the documents of the user and the user's teams, best first."""
        found = await shelves.find(context.user_id, query, MOST_RESULTS)
        return SearchResults([_result(each) for each in found])

    @tool(writes=False, title="List the documents")
    async def list_documents(context: ToolContext) -> list[dict[str, str]]:
        """The documents that can be searched: title, whose they are, and whether they are ready."""
        documents = await shelves.documents(context.user_id)
        return [
            {"title": each.title, "owner": each.owner, "state": each.state}
            for each in documents[:200]
        ]

    return [search_documents, list_documents]


def _result(found: Found) -> SearchResult:
    """Its words are the document's own, so that a citation is one, too."""
    title = f"{found.title} › {found.heading}" if found.heading else found.title
    return SearchResult(found.place, title, [found.text])
