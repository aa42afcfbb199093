"""What every route needs: who asks, and a body and numbers that hold what they should."""

import asyncio
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from turnlog.errors import BadInput, TooLarge
from turnlog.net import TooMuch, read_bounded

MOST_BYTES = 1_000_000  # of a request's body
SLOWEST_BODY = 30.0  # seconds
T = TypeVar("T", bound=msgspec.Struct)
_encode = msgspec.json.Encoder(decimal_format="number").encode


def json_response(value: Any, status: int = 200) -> Response:
    return Response(_encode(value), status, media_type="application/json")


async def body(request: Request, kind: type[T]) -> T:
    """The request's JSON, checked. An empty body is an empty object."""
    raw = await _bounded(request)
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise BadInput(f"The body does not fit: {error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"The body is not valid JSON: {error}.") from None
    except RecursionError:
        raise BadInput("The body is nested too deep.") from None


def number(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number of the query, within its bounds."""
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        raise BadInput(f"{name!r} must be a whole number.") from None
    if not least <= value <= most:
        raise BadInput(f"{name!r} must be between {least} and {most}.")
    return value


def flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "false").lower()
    if text not in ("true", "false", "1", "0"):
        raise BadInput(f"{name!r} must be true or false.")
    return text in ("true", "1")


async def _bounded(request: Request) -> bytes:
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            return await read_bounded(request.stream(), MOST_BYTES)
    except TooMuch:
        raise TooLarge(f"The body is larger than {MOST_BYTES} bytes.") from None
    except (ClientDisconnect, TimeoutError):
        raise BadInput("The body did not arrive as a whole.") from None
