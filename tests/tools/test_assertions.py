"""Assertions: who acts, signed, for those whom turnlog calls."""

import jwt
import pytest
from mcp_servers import over_http

from turnlog import Agent, McpServer, Settings, ToolContext, create_app, tool
from turnlog.errors import ConfigError
from turnlog.events import kinds as k
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import client_of, scripted_app
from turnlog.tools.mcp.source import ASSERTION_META

KEY = "a key of at least thirty-two characters"
AUDIENCE = "https://crm.example"


async def checked(app, assertion, audience):
    """As a receiver does it: with the public key, and nothing else."""
    async with client_of(app) as http:
        keys = jwt.PyJWKSet.from_dict((await http.get("/.well-known/jwks.json")).json())
    key = keys[jwt.get_unverified_header(assertion)["kid"]]
    return jwt.decode(assertion, key, algorithms=["EdDSA"], audience=audience, issuer="turnlog")


def results(run):
    return [entry.event for entry in run.events if isinstance(entry.event, k.ToolResult)]


async def test_a_tool_passes_on_who_acts():
    @tool(writes=False)
    async def get_order(context: ToolContext) -> str:
        """Look an order up."""
        return context.assertion(AUDIENCE)

    script = (Reply(ToolCall("get_order", {}, "toolu_1")), Reply("Done."))
    async with scripted_app(
        *script, agents=[Agent("erp", tools=[get_order])], assertion_key=KEY
    ) as (
        app,
        _,
    ):
        run = await app.run_turn("Go", user_id="alice")
        claims = await checked(app, results(run)[0].result, AUDIENCE)
        with pytest.raises(jwt.InvalidAudienceError):
            await checked(app, results(run)[0].result, "https://elsewhere.example")
    assert (claims["sub"], claims["agent"], claims["call"]) == ("alice", "erp", "toolu_1")
    assert (claims["session"], claims["turn"]) == (run.session_id, run.turn_id)
    assert claims["exp"] - claims["iat"] == 60


@pytest.mark.slow
async def test_an_mcp_server_can_check_who_acts():
    async with over_http() as (url, _):
        crm = McpServer("crm", url=url, assertion=True, approval="never")
        script = (Reply(ToolCall("crm__meta", {})), Reply("Done."))
        agents = [Agent("sales", mcp=[crm])]
        async with scripted_app(*script, agents=agents, assertion_key=KEY) as (app, _):
            run = await app.run_turn("Go", user_id="alice")
            claims = await checked(app, results(run)[0].result[ASSERTION_META], url)
    assert (claims["sub"], claims["agent"]) == ("alice", "sales")


async def test_without_a_key_nothing_is_asserted():
    app = create_app([Agent("erp")], settings=Settings(), store="memory:")
    async with app, client_of(app) as http:
        assert (await http.get("/.well-known/jwks.json")).json() == {"keys": []}
    crm = McpServer("crm", url="https://crm.example/mcp", assertion=True)
    with pytest.raises(ConfigError, match="needs 'assertion_key'"):
        create_app([Agent("erp", mcp=[crm])], settings=Settings(), store="memory:")
    with pytest.raises(ConfigError, match="too short"):
        create_app([Agent("erp")], settings=Settings(assertion_key="short"), store="memory:")
