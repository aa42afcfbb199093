"""The OpenAPI document is true: real answers fit its schemas, and a generated client works."""

import importlib
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

from turnlog.simulator import Reply, Thinking, ToolCall
from turnlog.testing.apps import SECRET, STREAM, as_user, events, served
from turnlog.transports.http import openapi
from turnlog.transports.http.answers import answer_of
from turnlog.transports.http.routes import ROUTES

DOCUMENT = openapi.document(ROUTES, "1")
SCHEMAS = DOCUMENT["components"]["schemas"]


def resolved(schema):
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def unknown(value, schema, where=""):
    """Fields of the value that the document does not have."""
    schema = resolved(schema)
    if "oneOf" in schema:
        schema = resolved({"$ref": schema["discriminator"]["mapping"][value["type"]]})
    for either in schema.get("anyOf", ()):
        if resolved(either).get("type") == ("null" if value is None else "object"):
            schema = resolved(either)
    if isinstance(value, list):
        for n, each in enumerate(value):
            yield from unknown(each, schema.get("items", {}), f"{where}[{n}]")
    if isinstance(value, dict) and "properties" in schema:
        for name, each in value.items():
            if name not in schema["properties"]:
                yield f"{where}.{name}"
            else:
                yield from unknown(each, schema["properties"][name], f"{where}.{name}")


def fits(value, schema):
    """The value has all that the schema wants, and nothing that it does not know."""
    whole = {"components": DOCUMENT["components"], **schema}
    jsonschema.Draft202012Validator(whole).validate(value)
    assert list(unknown(value, schema)) == []


def answered(response, method, path):
    """The answer of a route, which fits what the document says of it."""
    said = DOCUMENT["paths"][path][method.lower()]["responses"]
    assert str(response.status_code) in said, response.text
    content = said[str(response.status_code)]["content"]["application/json"]
    fits(response.json(), content["schema"])
    return response.json()


def test_every_route_has_the_type_of_its_answer():
    """A route that is new needs a row in transports/http/answers."""
    assert [r.path for r in ROUTES if answer_of(r.method, r.path) is None] == []
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            (first, *_) = operation["responses"].values()
            assert "content" in first or first["description"] == "Nothing.", path


def test_names_of_operations_are_unique():
    names = [o["operationId"] for path in DOCUMENT["paths"].values() for o in path.values()]
    assert len(names) == len(set(names))


SESSION = "/api/sessions/{session_id}"


async def test_answers_about_sessions_and_turns_fit():
    replies = [Reply(Thinking("Hm."), ToolCall("wait", {})), Reply("Done.")]
    async with served(*replies) as server:
        server.go.set()
        http = server.http
        made = answered(await http.post("/api/sessions"), "POST", "/api/sessions")
        own = f"/api/sessions/{made['id']}"
        asked = {"message": "Go", "enableThinking": True}
        streamed = await http.post(f"{own}/messages", json=asked, headers=STREAM)
        kinds = set()
        for event in events(streamed):
            fits(event, {"$ref": "#/components/schemas/Event"})
            kinds.add(event["type"])
        assert {"message", "tool_use", "tool_result", "thinking", "complete"} <= kinds
        for tail in ("", "/messages", "/events", "/verify", "/citations"):
            answered(await http.get(own + tail), "GET", SESSION + tail)
        answered(await http.get(f"{own}/events?internal=true&limit=1"), "GET", f"{SESSION}/events")
        for path in ("/api/sessions", "/api/config", "/healthz", "/readyz", "/api/approvals"):
            answered(await http.get(path), "GET", path)
        for path in ("/api/doubts", "/api/files", "/api/library", "/api/billing/users"):
            answered(await http.get(path), "GET", path)
        bill = await http.get(f"/api/billing/sessions/{made['id']}")
        answered(bill, "GET", "/api/billing/sessions/{session_id}")
        whose = await http.get("/api/billing/user/local")
        answered(whose, "GET", "/api/billing/user/{user_id}")
        thinking = {"enabled": True}
        answered(await http.patch(f"{own}/thinking", json=thinking), "PATCH", f"{SESSION}/thinking")
        answered(await http.patch(own, json={"title": "x"}), "PATCH", SESSION)
        answered(await http.post(f"{own}/stop"), "POST", f"{SESSION}/stop")
        estimate = await http.post(f"{own}/estimate", json={"message": "Hi"})
        answered(estimate, "POST", f"{SESSION}/estimate")
        ticket = await http.post("/api/tickets", json={"path": own})
        answered(ticket, "POST", "/api/tickets")
        answered(await http.get("/api/signin"), "GET", "/api/signin")
        problem = await http.get("/api/sessions/nowhere")
        fits(problem.json(), {"$ref": "#/components/schemas/Problem"})


async def test_answers_to_whoever_is_not_signed_in_fit():
    async with served(secret=SECRET) as server:
        answered(await server.http.get("/api/config"), "GET", "/api/config")
        signed_in = await server.http.get("/api/config", headers=as_user("alice"))
        assert answered(signed_in, "GET", "/api/config")["user"]["id"] == "alice"


# a client that somebody generates


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The package that openapi-python-client makes of the document."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_bytes(msgspec.json.encode(DOCUMENT))
    tools = Path(sys.executable).parent
    made = subprocess.run(
        [tools / "openapi-python-client", "generate", "--path", folder / "openapi.json"]
        + ["--output-path", folder / "assistant_api", "--meta", "none"],
        capture_output=True,
        text=True,
        env={"PATH": str(tools), "HOME": str(folder)},
        timeout=600,
    )
    assert made.returncode == 0, made.stdout
    assert "WARNING" not in made.stdout, made.stdout
    sys.path.insert(0, str(folder))
    yield lambda name: importlib.import_module(f"assistant_api.{name}")
    sys.path.remove(str(folder))


@pytest.mark.slow
async def test_a_generated_client_works(generated):
    client_of, models = generated("client").Client, generated("models")
    call = lambda place: generated(f"api.{place}").asyncio  # noqa: E731 - shorter than a function
    async with (
        served(Reply("Hello there.")) as server,
        client_of(base_url=str(server.http.base_url)) as client,
    ):
        new = models.NewSession(title="Ducks")
        session = await call("sessions.sessions_create")(client=client, body=new)
        assert (session.title, session.state) == ("Ducks", "idle")
        message = models.NewMessage(message="Hi")
        turn = await call("turns.turns_send")(session.id, client=client, body=message)
        assert turn.turn_id
        await server.ended()
        page = await call("turns.turns_reload")(session.id, client=client)
        asked, said = page.events
        assert (asked.type_, said.type_) == ("user_message_sent", "message")
        assert isinstance(said, models.MessageEvent)
        assert (said.content, said.agent.id) == ("Hello there.", "waiter")
        assert said.token_usage.output_tokens > 0
        listed = await call("sessions.sessions_find")(client=client, search="duck", limit=5)
        assert [each.id for each in listed.sessions] == [session.id]
        proof = await call("turns.turns_verify")(session.id, client=client)
        assert (proof.ok, proof.count) == (True, 2)
        bill = await call("billing.billing_session")(session.id, client=client)
        assert bill.total_tokens > 0 and bill.by_model[0].calls == 1
        missing = await call("sessions.sessions_get")("nowhere", client=client)
        assert (missing.status, missing.title) == (404, "Not found")
