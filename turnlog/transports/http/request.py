"""A request whose user is known, and a body and parameters that hold what they should."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from turnlog.errors import BadInput, NotFound, TooLarge
from turnlog.events import numbers
from turnlog.net import TooMuch, read_bounded
from turnlog.ports import Backend, User
from turnlog.transports import wire
from turnlog.transports.fitting import misfit

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,30}")
MOST_BYTES = 1_000_000  # of a request's body
SLOWEST_BODY = 30.0  # seconds
NOBODY = User(id="")  # who asks for what is for everybody
A = TypeVar("A")
T = TypeVar("T", bound=msgspec.Struct)
_NOT_TAKEN = re.compile(r"q=0(\.0*)?")  # RFC 9110, 12.4.2: a weight of 0 is "not acceptable"


@dataclass(frozen=True)
class UserRequest:
    """What a handler gets: the request, who sent it, and where the answer comes from."""

    http: Request
    user: User
    backend: Backend

    def id(self, name: str) -> str:
        """An id of the path. One with NUL is nobody's, and PostgreSQL takes none."""
        value: str = self.http.path_params[name]
        return _without_nul(value)

    def cursor(self) -> str | None:
        """Where the page begins: what the page before has named."""
        text = self.http.query_params.get("cursor")
        return None if text is None else _without_nul(text)

    def query(self, name: str) -> str | None:
        text = self.http.query_params.get(name)
        if text and "\0" in text:
            raise BadInput(f"{name!r} has a NUL character in it.")
        return text

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number of the query, within its bounds."""
        text = self.query(name)
        if text is None:
            return default
        if not WHOLE_NUMBER.fullmatch(text):  # int() also takes "1_0", " 1" and "١"
            raise BadInput(f"{name!r} must be a whole number.")
        value = int(text)
        if not least <= value <= most:
            raise BadInput(f"{name!r} must be between {least} and {most}.")
        return value

    def flag(self, name: str) -> bool:
        text = self.http.query_params.get(name, "false").lower()
        if text not in ("true", "false", "1", "0"):
            raise BadInput(f"{name!r} must be true or false.")
        return text in ("true", "1")

    def text(self, name: str, *, most: int) -> str:
        """A text of the query; "" where there is none."""
        text = self.query(name) or ""
        if len(text) > most:
            raise BadInput(f"{name!r} is longer than {most} characters.")
        return text

    def accepts(self, media_type: str) -> bool:
        """Whether the client names this type itself, and not as one that it does not take."""
        for wish in self.http.headers.get("accept", "").lower().split(","):
            name, *parameters = (part.replace(" ", "") for part in wish.split(";"))
            if name == media_type:
                return not any(_NOT_TAKEN.fullmatch(each) for each in parameters)
        return False

    async def body(self, kind: type[T], most: int = MOST_BYTES) -> T:
        """The request's JSON, checked. An empty body is an empty object."""
        return decoded(await self.raw(most), kind, exact=True)

    async def object(self, most: int = MOST_BYTES) -> dict[str, Any]:
        """The request's JSON, which must be an object, unchecked."""
        return decoded(await self.raw(most), dict[str, Any])

    async def raw(self, most: int = MOST_BYTES) -> bytes:
        """The request's body. Raises TooLarge."""
        return await bounded(self.http, most)


def _without_nul(id: str) -> str:
    if "\0" in id:
        raise NotFound("No id has a NUL character in it.")
    return id


def decoded(raw: bytes, kind: type[A], *, exact: bool = False) -> A:
    """The JSON of a body, checked; of an empty one, an empty object. Raises BadInput.

    `exact`: also for a number in it that would be rounded.
    """
    body = raw or b"{}"
    try:
        value: A = numbers.decode(body, kind) if exact else msgspec.json.decode(body, type=kind)
        return value
    except msgspec.ValidationError as error:
        raise BadInput(f"The body does not fit: {misfit(error, kind)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"The body is not valid JSON: {error}.") from None
    except RecursionError:
        raise BadInput("The body is nested too deep.") from None


def json_response(
    value: Any, status: int = 200, *, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(wire.as_json(value), status, headers, "application/json")


async def bounded(request: Request, most: int = MOST_BYTES) -> bytes:
    """The body, if it is not too large and comes in time. Raises TooLarge, BadInput."""
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            return await read_bounded(request.stream(), most)
    except TooMuch:
        raise TooLarge(f"The body is larger than {most} bytes.") from None
    except (ClientDisconnect, TimeoutError):
        raise BadInput("The body did not arrive as a whole.") from None
