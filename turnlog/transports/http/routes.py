"""Every route, once. The application, its OpenAPI document and the two-users test come of it."""

from collections.abc import Awaitable, Callable
from functools import cache
from importlib.metadata import version
from typing import Any, Literal, NamedTuple

import msgspec
from starlette.responses import HTMLResponse, Response

from turnlog.assertions import JWKS_PATH
from turnlog.transports.http import openapi
from turnlog.transports.http.request import UserRequest, json_response
from turnlog.transports.http.resources import (
    approvals,
    audit,
    billing,
    citations,
    files,
    library,
    sessions,
    signin,
    status,
    tickets,
    turns,
    webhooks,
)
from turnlog.transports.mcp.door import PATH as MCP
from turnlog.transports.protocols import ui_stream
from turnlog.transports.protocols.agui import run as agui
from turnlog.transports.protocols.chatkit import door as chatkit
from turnlog.transports.protocols.openai_api import completions, responses

Handler = Callable[[UserRequest], Awaitable[Response]]
Who = Literal["none", "guest", "user", "auditor", "admin", "scraper", "mcp"]
# Who may ask, beside those whom the handler refuses:
#   none     anybody, without a token
#   guest    anybody; who shows a token is told more
#   user     whoever has a token; what is somebody else's is not found
#   auditor  a user whose token says so, or an admin; each read is kept
#   admin    a user whose token says so
#   scraper  the `metrics_token`, or an admin
#   mcp      a user, or the turn of a user: the MCP server checks it


class Route(NamedTuple):
    """One method of one path."""

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    who: Who
    handler: Handler | None  # None: the MCP server
    summary: str
    answer: str = "JSON, as the summary says."
    status: int = 200
    query: tuple[str, ...] = ()  # see openapi.QUERY
    body: type[msgspec.Struct] | None = None
    example: dict[str, Any] | None = None  # of a body


async def describe(request: UserRequest) -> Response:
    place = request.http.scope.get("root_path")  # where the app is mounted, if it is
    return json_response(_document() | ({"servers": [{"url": place}]} if place else {}))


async def docs(request: UserRequest) -> Response:
    return HTMLResponse(_page())


@cache  # 20 ms of work, that anybody may ask for
def _document() -> dict[str, Any]:
    return openapi.document(ROUTES, version("turnlog"))


@cache
def _page() -> str:
    return openapi.page(ROUTES)


SESSION = "/api/sessions/{session_id}"
MESSAGES = f"{SESSION}/messages"
FILE = "/api/files/{file_id}"
# fmt: off
ROUTES: tuple[Route, ...] = (
    Route("GET",   "/",             "guest", status.welcome, "What runs here.", "A page."),
    Route("GET",   "/docs",         "none", docs,           "This document, to read.", "A page."),
    Route("GET",   "/openapi.json", "none", describe,       "This document.", "OpenAPI 3.1."),
    Route("GET",   "/healthz",      "none", status.health,  "The process lives.", "{status}"),
    Route("GET",   "/readyz",       "none", status.ready,   "The store answers.",
          "{status, liveEvents, away?}"),
    Route("GET",   JWKS_PATH,       "none", status.jwks,
          "The key that assertions to tools are signed with.", "{keys}"),
    Route("GET",   "/metrics",      "scraper", status.metrics, "Counters for Prometheus.", "Text."),
    Route("GET",   "/api/config",   "guest", status.config, "What a user interface needs to know.",
          "{model, agents, limits, simulated, …}"),
    Route("GET",   "/api/signin",   "none", signin.offer, "How a browser signs in here.",
          "{kind: none, token or code, …}"),
    Route("POST",  "/api/signin",   "none", signin.exchange,
          "The token for the code of an identity provider (PKCE).", "{token}", body=signin.Code,
          example={"code": "C", "verifier": "V", "redirectUri": "https://turnlog.example/signin"}),
    Route("POST",  "/api/tickets",  "user", tickets.issue,
          "For `EventSource` and `<img>`, which send no token: a ticket opens one path, once,"
          " within 60 seconds, as `?ticket=`.", "{ticket, expiresAt}", 201,
          body=tickets.NewTicket, example={"path": "/api/sessions/ID/stream"}),

    Route("GET",   "/api/sessions", "user", sessions.find, "The user's sessions, newest first.",
          "{sessions, cursor}", query=("limit", "cursor", "archived", "search", "order")),
    Route("POST",  "/api/sessions", "user", sessions.create, "Start a conversation.",
          "The session.", 201, body=sessions.NewSession, example={"title": "Ducks"}),
    Route("GET",   SESSION, "user", sessions.get, "One session.", "The session."),
    Route("PATCH", SESSION, "user", sessions.change, "Rename or archive a session, let it search.",
          "The session.", body=sessions.Change, example={"title": "Geese"}),
    Route("PATCH", f"{SESSION}/thinking", "user", sessions.set_thinking,
          "Let the model think, or not.", "{success, enabled, budgetTokens}",
          body=sessions.ThinkingChange, example={"enabled": True, "budgetTokens": 5000}),

    Route("GET",   MESSAGES, "user", turns.reload,
          "The reload: the newest page of kept events, and the cursor to go on from.",
          "{events, before, cursor}", query=("before", "limit")),
    Route("POST",  MESSAGES, "user", turns.send,
          "Ask. With `Accept: text/event-stream` the answer streams until `complete` or `error`;"
          " otherwise 202, with its `place` where it waits in line.", "{turnId, place?}", 202,
          body=turns.NewMessage, example={"message": "Hi"}),
    Route("POST",  f"{SESSION}/estimate", "user", turns.estimate,
          "What a message would cost, before it is sent; nothing is kept.",
          "{inputTokens, estimatedCostUsd, wouldExceedBudget}",
          body=turns.NewMessage, example={"message": "Hi"}),
    Route("POST",  f"{SESSION}/stop", "user", turns.stop,
          "Stop what runs, or only the turn with this id, on whichever node; what was shown is"
          " kept.", "{stopped}", query=("turnId",)),
    Route("GET",   f"{SESSION}/stream", "user", turns.stream,
          "Server-sent events from the cursor on, then live.", "An event stream.",
          query=("after",)),
    Route("GET",   f"{SESSION}/events", "user", turns.events,
          "The log itself; for auditors with internal events, of anybody's session.",
          "{events, after}",
          query=("after", "limit", "internal")),
    Route("GET",   f"{SESSION}/verify", "user", turns.verify,
          "The proof that nothing is missing.", "{first, last, count, gaps, …, ok}"),

    Route("GET",   f"{SESSION}/raw/{{number}}", "user", audit.raw,
          "For auditors: what the provider sent for the answer with this number, where `keep_raw`"
          " kept it.",
          "{messageId, bytes, body}"),

    Route("POST",  f"{SESSION}/files", "user", files.upload_image,
          "Send an image: multipart, the part `file`. With `Accept: text/event-stream` the answer"
          " is `progress`, then `file` or `problem`.", "{fileId, mediaType, size, dimensions}"),
    Route("POST",  f"{SESSION}/files/pdf", "user", files.upload_pdf, "The same for a PDF.",
          "{fileId, pages, textLength, metadata, size}"),
    Route("POST",  f"{SESSION}/files/document", "user", files.upload_document,
          "The same for text, Markdown, CSV, HTML, Word, Excel and e-mail.",
          "{fileId, mediaType, pages, textLength, metadata, size}"),
    Route("GET",   f"{SESSION}/citations", "user", citations.of_session,
          "What the answers of a session rest on, oldest first.", "{citations}",
          query=("limit", "after")),
    Route("GET",   "/api/messages/{message_id}/citations", "user", citations.of_message,
          "What one answer rests on.", "{citations}"),
    Route("GET",   "/api/files", "user", files.find, "The user's files, newest first.",
          "{files, cursor}", query=("limit", "cursor")),
    Route("GET",   FILE, "user", files.get, "What is known of a file.", "The file."),
    Route("DELETE", FILE, "user", files.delete, "Delete a file.", "Nothing.", 204),
    Route("GET",   f"{FILE}/content", "user", files.content, "The file itself.", "Its bytes."),
    Route("GET",   f"{FILE}/thumbnail", "user", files.thumbnail,
          "A small picture of an image, or of a page of a PDF.", "JPEG or PNG.",
          query=("page", "width")),
    Route("GET",   f"{FILE}/pages", "user", files.pages,
          "The text of some pages, as in `1,3-5`; with `Accept: application/pdf` the pages.",
          "{fileId, pages: [{page, text}]}", query=("pages",)),

    Route("GET",   "/api/approvals", "user", approvals.approvals,
          "What the user may decide, oldest first.", "{approvals}",
          query=("status", "limit")),
    Route("POST",  "/api/approvals/{approval_id}", "user", approvals.answer,
          "Allow a call, refuse it, or allow it with other arguments; once.", "The approval.",
          body=approvals.Answer, example={"approved": True}),
    Route("GET",   "/api/doubts", "user", approvals.doubts,
          "Writes of which nobody knows whether they took effect.", "{doubts}"),
    Route("POST",  f"{SESSION}/doubts/{{tool_use_id}}", "user", approvals.settle,
          "Say what became of a write that is in doubt.", "{success}",
          body=approvals.Finding, example={"happened": True}),

    Route("GET",   "/api/webhooks/notices", "admin", webhooks.notices,
          "What was sent over webhooks and what waits, newest first.", "{notices}",
          query=("status", "limit")),
    Route("POST",  "/api/webhooks/replay", "admin", webhooks.replay,
          "Send a notice again, or all with a status.", "{replayed}",
          body=webhooks.Replay, example={"status": "failed"}),

    Route("GET",   "/api/audit/sessions", "auditor", audit.sessions,
          "Everybody's sessions, newest first, archived ones too.", "{sessions, cursor}",
          query=("user", "search", "limit", "cursor")),
    Route("GET",   "/api/audit/reads", "auditor", audit.reads,
          "What auditors have read, newest first.", "{reads}", query=("session", "limit")),

    Route("GET",   "/api/billing/sessions/{session_id}", "user", billing.session,
          "What a session has used and what that cost; as rows with `format=csv`.",
          "The bill.", query=("timezone", "format")),
    Route("GET",   "/api/billing/users", "admin", billing.users, "Everybody's bill, by user.",
          "The bill.", query=("startDate", "endDate", "timezone", "format")),
    Route("GET",   "/api/billing/user/{user_id}", "user", billing.user,
          "The same of a user, for the user and for admins. `startDate` is in, `endDate` is not.",
          "The bill.", query=("startDate", "endDate", "timezone", "format")),

    Route("POST",  f"{SESSION}/ui-stream", "user", ui_stream.send,
          "The Vercel AI SDK's `useChat`: a question, or answers to approvals.",
          "A UI-message stream.", body=ui_stream.UiRequest, example=ui_stream.EXAMPLE),
    Route("GET",   f"{SESSION}/ui-stream", "user", ui_stream.resume,
          "The answer that is being written, for `useChat` that comes back; 204 without one.",
          "A UI-message stream.", query=("after",)),
    Route("GET",   f"{SESSION}/ui-messages", "user", ui_stream.messages,
          "The session as UIMessages, for `useChat` to begin with.", "{messages}",
          query=("limit",)),
    Route("GET",   "/api/library", "user", library.find,
          "The documents of the user and of the user's teams, newest first.", "{documents}"),
    Route("POST",  "/api/library", "user", library.add,
          "Add a document; it can be found when its `state` is `ready`.", "The document.", 202,
          body=library.NewDocument, example={"title": "House rules", "text": "No smoking."}),
    Route("GET",   "/api/library/{document_id}", "user", library.get,
          "One document, and how far its indexing is.", "The document."),
    Route("DELETE", "/api/library/{document_id}", "user", library.delete,
          "Delete a document, with all that was found in it.", "The document."),

    Route("POST",  "/agui", "user", agui.run, "AG-UI: a run of a thread.", "AG-UI events.",
          body=agui.RunInput, example=agui.EXAMPLE),

    Route("GET",   "/chatkit", "none", chatkit.page, "A page that speaks ChatKit.", "A page."),
    Route("POST",  "/chatkit", "user", chatkit.process,
          "ChatKit: every request of the protocol.", "JSON, or events.",
          body=chatkit.AnyRequest, example=chatkit.EXAMPLE),
    Route("POST",  "/chatkit/attachments", "user", chatkit.upload,
          "ChatKit: a file for a message, multipart, the part `file`.", "An attachment."),

    Route("GET",   "/v1/models", "user", completions.models,
          "OpenAI's API: our agents as models.", "{object, data}"),
    Route("GET",   "/v1/models/{model_id}", "user", completions.model,
          "OpenAI's API: one of them.", "{id, object, created, owned_by}"),
    Route("POST",  "/v1/chat/completions", "user", completions.create,
          "OpenAI's API: an answer to messages.", "A completion, or its chunks.",
          body=completions.NewCompletion, example=completions.EXAMPLE),
    Route("POST",  "/v1/responses", "user", responses.create,
          "OpenAI's API: a turn.", "A response, or its events.",
          body=responses.NewResponse, example=responses.EXAMPLE),
    Route("GET",   "/v1/responses/{response_id}", "user", responses.retrieve,
          "OpenAI's API: a turn as it is now.", "A response, or its events.",
          query=("stream", "starting_after")),
    Route("POST",  "/v1/responses/{response_id}/cancel", "user", responses.cancel,
          "OpenAI's API: stop a turn.", "A response."),
    Route("POST",  "/v1/conversations", "user", responses.create_conversation,
          "OpenAI's API: a new session.", "A conversation.",
          body=responses.NewConversation, example={}),
    Route("GET",   "/v1/conversations/{conversation_id}", "user", responses.conversation,
          "OpenAI's API: a session.", "A conversation."),
    Route("GET",   "/v1/conversations/{conversation_id}/items", "user", responses.list_items,
          "OpenAI's API: what was said in a session.", "{object, data}",
          query=("limit", "order")),

    Route("POST",  MCP, "mcp", None,
          "Tools for MCP clients (streamable HTTP): the tasks', and the app's own that allow it.",
          "JSON-RPC."),
    Route("GET",   MCP, "mcp", None,
          "What an MCP session is told beside its calls; where agents are offered.",
          "Server-sent events."),
    Route("DELETE", MCP, "mcp", None, "End an MCP session; where agents are offered.", "Nothing."),
)
# fmt: on
