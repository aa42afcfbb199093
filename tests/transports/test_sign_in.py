"""How to sign in is told to anybody, and the provider is asked for it as little as can be."""

import asyncio

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from turnlog.errors import Unauthorized
from turnlog.simulator.listener import listen
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.jwks import PAUSE, Issuer
from turnlog.transports.access.sign_in import SignIn


async def test_a_provider_in_trouble_is_asked_now_and_then_however_many_want_to_sign_in():
    asked, answer = [], JSONResponse({}, 503)

    async def discovery(request):
        asked.append(request)
        return answer

    app = Starlette(routes=[Route("/.well-known/openid-configuration", discovery)])
    async with listen(app, "127.0.0.1", 0) as url:
        clock = [0.0]
        issuer = Issuer(name=url, audience="turnlog", client_id="web")
        sign_in = SignIn(Auth(None, issuer), clock=lambda: clock[0])
        for clock[0] in (0.0, PAUSE - 1, PAUSE):
            offers = (sign_in.offer() for _ in range(20))
            for each in await asyncio.gather(*offers, return_exceptions=True):
                assert isinstance(each, Unauthorized)
        assert len(asked) == 2
        at = {f"{name}_endpoint": f"{url}/{name}" for name in ("authorization", "token")}
        answer, clock[0] = JSONResponse({"issuer": url} | at), 2 * PAUSE
        assert (await sign_in.offer())["authorizationEndpoint"] == f"{url}/authorization"
