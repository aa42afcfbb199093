"""Signing in with an identity provider: the code flow with PKCE, in a real browser."""

import hashlib
from base64 import urlsafe_b64encode
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route
from test_auth import Provider
from web.browser import new_context, tab
from web.office import office

from turnlog.simulator import Reply
from turnlog.simulator.listener import listen
from turnlog.testing.apps import SECRET, is_problem
from turnlog.tokens import mint

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


class SignInPage(Provider):
    """A provider that signs everybody in as Alice, and checks what it is given."""

    codes = None

    async def discovery(self, request):
        at = {name: f"{self.url}/{name}" for name in ("authorize", "token", "keys")}
        return JSONResponse(
            {
                "issuer": self.url,
                "jwks_uri": at["keys"],
                "authorization_endpoint": at["authorize"],
                "token_endpoint": at["token"],
            }
        )

    async def authorize(self, request):
        asked = request.query_params
        self.codes = {"a-code": asked["code_challenge"]}
        back = urlencode({"code": "a-code", "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}")

    async def exchange(self, request):
        form = parse_qs((await request.body()).decode())
        digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
        challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (self.codes or {}).pop(form["code"][0], None) != challenge:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse({"access_token": "opaque", "id_token": self.token()[7:]})


@asynccontextmanager
async def provided(**options):
    provider = SignInPage()
    routes = [
        Route("/.well-known/openid-configuration", provider.discovery),
        Route("/keys", provider.key_set),
        Route("/authorize", provider.authorize),
        Route("/token", provider.exchange, methods=["POST"]),
    ]
    async with listen(Starlette(routes=routes), "127.0.0.1", 0) as provider.url:
        settings = {"auth_issuer": provider.url, "auth_audience": "turnlog"}
        async with office(Reply("Hello."), auth_client_id="web", **settings, **options) as here:
            yield provider, here


async def test_a_user_signs_in_with_the_provider_and_comes_back_to_the_draft(browser):
    async with provided() as (_, here):
        context = await new_context(browser)
        page = await context.new_page()
        await page.goto(here.url + "/usage")
        await page.get_by_role("button", name="Sign in…").click()
        await page.get_by_text("Cost by day").wait_for()
        assert urlsplit(page.url)[2:] == ("/usage", "", "")  # back, and nothing in the address
        await page.get_by_role("button", name="Sign out alice").wait_for()
        await context.close()


async def test_a_code_without_its_verifier_is_worth_nothing():
    async with (
        provided() as (provider, here),
        httpx2.AsyncClient(timeout=60, base_url=here.url) as http,
    ):
        offer = (await http.get("/api/signin")).json()
        assert (offer["kind"], offer["clientId"]) == ("code", "web")
        provider.codes = {"a-code": "the challenge of somebody else"}
        body = {"code": "a-code", "verifier": "mine", "redirectUri": here.url + "/signin"}
        is_problem(await http.post("/api/signin", json=body), 401, "unauthorized")


async def test_a_state_that_is_not_ours_is_not_taken(browser):
    async with provided() as (provider, here):
        context = await new_context(browser)
        page = await context.new_page()
        asked = []
        page.on("request", lambda request: asked.append((request.method, request.url)))
        await page.goto(here.url + "/signin?code=stolen&state=wrong")
        await page.get_by_role("button", name="Sign in…").wait_for()
        assert urlsplit(page.url)[2:] == ("/", "", "")
        assert [url for method, url in asked if method == "POST" and "signin" in url] == []
        await context.close()


BEHIND = "() => getComputedStyle(document.querySelector('dialog'), '::backdrop').backgroundColor"


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_who_signs_out_leaves_nothing_to_read_and_finds_it_again(browser, theme):
    async with (
        office(Reply("The salary of Ben."), auth_secret=SECRET) as here,
        tab(browser, here.url, theme=theme) as one,
    ):
        session = (await here.app.create_session("anna")).id
        await one.go(f"/s/{session}")
        token = one.page.get_by_label("Token", exact=True)
        await token.wait_for()
        assert "rgba(" in await one.page.evaluate(BEHIND)  # the page stays in sight
        await token.fill(mint(SECRET, "anna"))
        await one.page.keyboard.press("Enter")
        await token.wait_for(state="detached")
        await one.ask("What does Ben earn?")
        await one.ended()
        await one.page.get_by_role("button", name="Sign out anna").click()
        await token.wait_for()
        assert "rgb(" in await one.page.evaluate(BEHIND)  # nothing shines through
        await token.fill(mint(SECRET, "anna"))
        await one.page.keyboard.press("Enter")
        await token.wait_for(state="detached")
        assert await one.page.get_by_text("The salary of Ben.").is_visible()
