"""Several requests as one: `$batch`, which ends with the first request that is refused."""

from collections.abc import Sequence
from typing import Any

from turnlog.contrib.business_central.client.failures import failure, lost
from turnlog.errors import ToolError

Json = dict[str, Any]


def request(method: str, url: str, body: Json | None = None, etag: str | None = None) -> Json:
    headers = {"Content-Type": "application/json"}
    headers |= {} if etag is None else {"If-Match": etag}
    made = {"method": method, "url": url, "headers": headers}
    return made | ({} if body is None else {"body": body})


def batch(requests: Sequence[Json], api: str) -> Json:
    """Their addresses begin at the API's."""
    numbered = [
        each | {"id": str(number), "url": each["url"].removeprefix(f"{api}/")}
        for number, each in enumerate(requests)
    ]
    return {"requests": numbered}


def errors(reply: Json, requests: Sequence[Json], *, wrote: bool) -> list[ToolError | None]:
    """The error of each request. `wrote`: one that broke off may have taken effect.

    Raises Uncertain where an answer is missing and none is an error.
    """
    responses = {each.get("id"): each for each in reply["responses"]}
    answers = [responses.get(str(number)) for number in range(len(requests))]
    refusals = [
        None if answer is None else _refusal(answer, each.get("body"), wrote=wrote)
        for answer, each in zip(answers, requests, strict=True)
    ]
    if None in answers and not any(refusals):
        raise lost(wrote=True)
    return refusals


def _refusal(response: Json, body: Any, *, wrote: bool) -> ToolError | None:
    if response["status"] < 300:
        return None
    return failure(response["status"], response.get("body"), wrote=wrote, sent=body)
