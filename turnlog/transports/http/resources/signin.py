"""Signing in over HTTP: how it is done here, and the token for a provider's code."""

import msgspec
from starlette.responses import Response

from turnlog.transports.access.sign_in import SignIn
from turnlog.transports.http.request import UserRequest, json_response


class Code(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """POST /api/signin: what the provider gave to the browser."""

    code: str
    verifier: str
    redirect_uri: str


def _sign_in(request: UserRequest) -> SignIn:
    sign_in: SignIn = request.http.app.state.sign_in
    return sign_in


async def offer(request: UserRequest) -> Response:
    return json_response(await _sign_in(request).offer())


async def exchange(request: UserRequest) -> Response:
    given = await request.body(Code)
    token = await _sign_in(request).exchange(given.code, given.verifier, given.redirect_uri)
    return json_response({"token": token})
