"""Web search as the server's own tool, over a few invented pages under example.com."""

import base64
import hashlib
from typing import NamedTuple
from urllib.parse import urlsplit

from ..script import Block, Json, RawBlock, Text, Usage, fresh_id
from ..tokens import CHARACTERS_PER_TOKEN, input_tokens
from .documents import content, sentences

# address | title | text
WEB = """\
https://tax.example.com/vat/basics | How value added tax (VAT) works | Value added tax is charged \
at each step of a supply chain. The final consumer bears the tax.
https://tax.example.com/vat/reverse-charge | Reverse charge explained | With reverse charge the \
customer owes the VAT instead of the supplier. The invoice then shows no VAT amount.
https://trade.example.com/incoterms | Incoterms at a glance | Incoterms are eleven rules that say \
who pays for transport. EXW puts nearly everything on the buyer.
https://finance.example.com/payment-terms | Payment terms | The term 2/10 net 30 means two percent \
discount within ten days. Terms belong on the invoice.
https://ops.example.com/audit/append-only-logs | Why audit logs are append-only | An append-only \
log is never updated, so that it can prove what happened. A correction is a new entry.
https://news.example.com/2026/einvoicing | Simulated news on e-invoicing | In this invented news \
item, most businesses can receive electronic invoices. Sending them becomes mandatory in steps.
"""


class Page(NamedTuple):
    url: str
    title: str
    text: str


PAGES = [Page(*line.split(" | ")) for line in WEB.splitlines()]


def offered(body: Json) -> Json | None:
    """The search tool of the request, unless it says that no tool may be used."""
    tools: list[Json] = body.get("tools") or []
    is_off = (body.get("tool_choice") or {}).get("type") == "none"
    able = [tool for tool in tools if str(tool.get("type", "")).startswith("web_search_")]
    return able[0] if able and not is_off else None


def search(body: Json, query: str) -> tuple[list[Block], Usage]:
    """An answer, and what it costs. "VAT and for Incoterms" are two searches."""
    tool, queries = offered(body) or {}, query.split(" and for ")
    most = tool.get("max_uses")
    made = min(len(queries), most) if isinstance(most, int) else len(queries)
    blocks: list[Block] = []
    pages: list[Page] = []
    for at, one in enumerate(queries):
        hits = matching(one, tool) if at < made else None
        blocks += _call(one, hits)
        pages += [page for page in hits or () if page not in pages]
    read = sum(len(page.text) for page in pages) // CHARACTERS_PER_TOKEN
    usage = Usage(web_searches=made, final_input_tokens=input_tokens(body) + read)
    return [*blocks, *_answer(query, pages, made < len(queries))], usage


def matching(query: str, tool: Json) -> list[Page]:
    """Pages that share words with the query, best first; the domains of the tool are obeyed."""
    words = content(query)
    allowed, blocked = tool.get("allowed_domains"), tool.get("blocked_domains") or []
    able = [p for p in PAGES if allowed is None or any(_is_under(p.url, one) for one in allowed)]
    able = [p for p in able if not any(_is_under(p.url, one) for one in blocked)]
    scores = {p: 3 * len(words & content(p.title)) + len(words & content(p.text)) for p in able}
    return sorted((p for p in able if scores[p]), key=lambda page: -scores[page])[:3]


def _is_under(url: str, domain: object) -> bool:
    """A domain covers its subdomains; one with a path covers what is below the path."""
    parts = urlsplit(url)
    host, _, path = str(domain).removeprefix("https://").partition("/")
    own = parts.hostname or ""
    return (own == host or own.endswith(f".{host}")) and parts.path.startswith(f"/{path}")


def _call(query: str, pages: list[Page] | None) -> list[Block]:
    """The search and its result. None: the limit is used up."""
    id = fresh_id("srvtoolu")
    refused = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    result = refused if pages is None else [_result(page) for page in pages]
    use = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}}
    answer = {"type": "web_search_tool_result", "tool_use_id": id, "content": result}
    return [RawBlock(use), RawBlock(answer)]


def _result(page: Page) -> Json:
    about = {"title": page.title, "url": page.url, "page_age": None}
    return {"type": "web_search_result", **about, "encrypted_content": _sealed(page.text)}


def _sealed(text: str) -> str:
    """Stands for what only the API can read: to be sent back as it is."""
    return base64.b64encode(b"simulated" + hashlib.sha256(text.encode()).digest()).decode()


def _answer(query: str, pages: list[Page], is_cut: bool) -> list[Block]:
    ending = " I could not run all searches: their limit is used up." if is_cut else ""
    if not pages:
        return [Text(f"I found no page on “{query}” in the small web of this simulation.{ending}")]
    blocks: list[Block] = []
    for at, page in enumerate(pages):
        opening = "\n- " if at else f"From the simulated web on “{query}”:\n\n- "
        blocks += [Text(opening), _cited(page, query)]
    return [*blocks, Text(f"\n\nThese pages are invented examples.{ending}")]


def _cited(page: Page, query: str) -> Text:
    parts = [page.text[start:end] for start, end in sentences(page.text)]
    best = max(parts, key=lambda text: len(content(text) & content(query)))
    place = {"url": page.url, "title": page.title, "encrypted_index": _sealed(best)}
    citation = {"type": "web_search_result_location", "cited_text": best, **place}
    return Text(best.strip(), (citation,))
