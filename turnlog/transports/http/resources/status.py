"""What the server says about itself: that it lives, what runs here, and its counters."""

from html import escape

from starlette.responses import HTMLResponse, Response

from turnlog.events.handovers import RESERVED_PREFIXES
from turnlog.telemetry.registry import CONTENT_TYPE
from turnlog.transports.http.request import NOBODY, UserRequest, json_response


async def welcome(request: UserRequest) -> Response:
    """The page at `/` until the web UI is there: what runs, for its operator, and what to try."""
    facts = request.backend.describe() if request.user.admin else {}
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return HTMLResponse(_PAGE.format(rows=rows, base=escape(facts.get("address", ""))))


async def health(request: UserRequest) -> Response:
    return json_response({"status": "ok"})


async def ready(request: UserRequest) -> Response:
    """Whether the store answers; and whether events of other nodes come at once, or by the log."""
    await request.backend.store.list_sessions("", limit=1)
    away = request.backend.bus.away
    live = {"liveEvents": "at once"} if away is None else {"liveEvents": "by the log", "away": away}
    return json_response({"status": "ready"} | live)


async def config(request: UserRequest) -> Response:
    """Whoever is not signed in is told that, and nothing about agents, tools and the store.
    Where things lie is the operator's business: no other user sees a folder or an address.
    """
    backend, user = request.backend, request.user
    if user == NOBODY:
        simulated = backend.config(user)["simulated"]
        return json_response({"user": None, "simulated": simulated})
    facts = backend.describe(places=user.admin) | backend.config(user)
    who = {"id": user.id, "roles": sorted(user.roles)}
    return json_response(facts | {"user": who, "internalPrefixes": RESERVED_PREFIXES})


async def metrics(request: UserRequest) -> Response:
    """For Prometheus."""
    return Response(request.backend.metrics.page(), media_type=CONTENT_TYPE)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>turnlog</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto;
         padding: 0 1rem; color: #1d2733; background: #fff; }}
  h1 {{ font-size: 1.6rem; margin-bottom: 0; }}
  table {{ border-collapse: collapse; margin: 1.5rem 0; }}
  th, td {{ text-align: left; padding: .25rem 1.5rem .25rem 0; }}
  th {{ font-weight: 600; color: #5a6b7d; }}
  pre {{ background: #f3f5f8; padding: 1rem; border-radius: 6px; overflow-x: auto; }}
</style></head><body>
<h1>turnlog runs</h1>
<p>An agent server whose every step is an event in a gap-free log.</p>
<table>{rows}</table>
<h2>Try it</h2>
<pre>curl -s -X POST {base}/api/sessions
# take the id from the answer, then:
curl -N -H 'Accept: text/event-stream' \\
     -H 'Content-Type: application/json' \\
     -d '{{"message": "Hello! What can you do?"}}' \\
     {base}/api/sessions/ID/messages</pre>
<p>The whole HTTP interface: <a href="/docs">/docs</a>.
Afterwards <code>turnlog verify</code> proves the log, and
<code>turnlog replay ID</code> plays the session back.</p>
</body></html>
"""


async def jwks(request: UserRequest) -> Response:
    """For tool servers that check who acts."""
    return json_response(request.backend.jwks)
