"""Web search as the server's own tool: over the built-in pages, within the request's limits."""

import base64
import hashlib
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from ..script import Block, Json, RawBlock, Text, fresh_id
from .corpus import PAGES, Page
from .documents import sentences
from .words import FILLERS, content, tokens

MOST_RESULTS = 5
ASKED = re.compile(
    r"\b(search(?: the)? (?:web|internet|online)|(?:web|internet|online) search|google|"
    r"look (?:it |this |that )?up online|on the (?:web|internet)|online|news|latest|up to date)\b",
    re.I,
)
SEARCH = re.compile(r"^(?:search|find out|look up)\b", re.I)
_COMMAND = re.compile(
    r"\b(please|can you|could you|search|the web|the internet|internet|web|online|google|look up|"
    r"for|about|on|find out|find|tell me|what does it say|what(?:'s| is| are)|"
    r"latest news|is there|any)\b",
    re.I,
)


def offered(body: Json) -> Json | None:
    """The search tool of the request, unless it says that no tool may be used."""
    if (body.get("tool_choice") or {}).get("type") == "none":
        return None
    tools: Sequence[Json] = body.get("tools") or ()
    return next((t for t in tools if str(t.get("type", "")).startswith("web_search_")), None)


def is_asked(question: str, has_other_tools: bool) -> bool:
    """Asked for the web, or for a search where nothing else can search."""
    if ASKED.search(question):
        return True
    return not has_other_tools and SEARCH.search(question.strip()) is not None


def queries(question: str) -> list[str]:
    """One query for each topic: "search the web for VAT and for Incoterms" are two."""
    parts = re.split(r"\band (?:also |then )?(?:for|search|about)\b|[;?]\s+", question, flags=re.I)
    cleaned = [" ".join(_COMMAND.sub(" ", part).split()).strip(" .?!,:") for part in parts]
    return [query for query in cleaned if query] or [question.strip()[:200]]


def search(tool: Json, question: str) -> tuple[list[Block], int, int]:
    """The blocks of the answer, how many searches were made, and the characters that they read."""
    most = tool.get("max_uses")
    blocks: list[Block] = []
    hits: list[Page] = []
    asked = queries(question)
    for at, query in enumerate(asked):
        allowed = not isinstance(most, int) or at < most
        found = matching(query, tool) if allowed else []
        blocks += _called(query, found if allowed else None)
        hits += [page for page in found if page not in hits]
    made = min(len(asked), most) if isinstance(most, int) else len(asked)
    blocks += _answer(asked, hits, refused=len(asked) > made)
    return blocks, made, sum(len(page.text) for page in hits)


def matching(query: str, tool: Json) -> list[Page]:
    """Pages that share words with the query, best first; the domains of the tool are obeyed."""
    asked = _query_words(query)
    scored = [(_score(page, asked), page) for page in PAGES if is_allowed(page.url, tool)]
    found = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
    return [page for _, page in found[:MOST_RESULTS]]


def _query_words(text: str) -> set[str]:
    return {*content(text), *(word for word in tokens(text) if word not in FILLERS)}


def _score(page: Page, asked: set[str]) -> int:
    title, text = _query_words(f"{page.title} {page.url}"), _query_words(page.text)
    return sum(3 * (word in title) + (word in text) for word in asked)


def is_allowed(url: str, tool: Json) -> bool:
    allowed, blocked = tool.get("allowed_domains"), tool.get("blocked_domains")
    if isinstance(allowed, list) and not any(_is_under(url, domain) for domain in allowed):
        return False
    return not (isinstance(blocked, list) and any(_is_under(url, domain) for domain in blocked))


def _is_under(url: str, domain: object) -> bool:
    """A domain covers its subdomains; one with a path covers what is below the path."""
    parts = urlsplit(url)
    host, _, path = str(domain).removeprefix("https://").partition("/")
    own = parts.hostname or ""
    return (own == host or own.endswith(f".{host}")) and parts.path.startswith(f"/{path}")


def _called(query: str, found: list[Page] | None) -> list[Block]:
    call = fresh_id("srvtoolu")
    content: Json | list[Json] = {
        "type": "web_search_tool_result_error",
        "error_code": "max_uses_exceeded",
    }
    if found is not None:
        content = [_result(page) for page in found]
    asked = {"type": "server_tool_use", "id": call, "name": "web_search", "input": {"query": query}}
    answered = {"type": "web_search_tool_result", "tool_use_id": call, "content": content}
    return [RawBlock(asked), RawBlock(answered)]


def _result(page: Page) -> Json:
    return {
        "type": "web_search_result",
        "title": page.title,
        "url": page.url,
        "encrypted_content": _sealed(page.url + page.text),
        "page_age": None,
    }


def _sealed(text: str) -> str:
    """Stands for what only the API can read: to be sent back as it is."""
    return base64.b64encode(b"simulated" + hashlib.sha256(text.encode()).digest()).decode()


def _answer(asked: list[str], hits: list[Page], refused: bool) -> list[Block]:
    topics = " and ".join(f"“{query}”" for query in asked)
    if not hits:
        why = " The limit of searches is used up." if refused else ""
        return [Text(f"I found no page on {topics} in the small web of this simulation.{why}")]
    blocks: list[Block] = []
    for at, page in enumerate(hits[:3]):
        opening = f"From the simulated web on {topics}:\n\n- " if at == 0 else "\n- "
        blocks += [Text(opening), _cited(page, " ".join(asked))]
    ending = " I could not run all searches: their limit is used up." if refused else ""
    return [*blocks, Text(f"\n\nThese pages are invented examples.{ending}")]


def _cited(page: Page, query: str) -> Text:
    asked = _query_words(query)
    spans = [page.text[start:end] for start, end in sentences(page.text)]
    best = max(spans, key=lambda text: len(_query_words(text) & asked))
    citation = {
        "type": "web_search_result_location",
        "cited_text": best,
        "url": page.url,
        "title": page.title,
        "encrypted_index": _sealed(page.url + best),
    }
    return Text(best.strip(), (citation,))
