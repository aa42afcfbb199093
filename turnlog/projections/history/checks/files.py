"""Images, documents, cache marks, and the size of it all."""

from collections.abc import Iterator
from typing import Any

from turnlog.projections.history import models
from turnlog.projections.history.blocks import THOUGHTS
from turnlog.projections.history.request import Found, Json, Placed, Request, short, word

MOST_OF_AN_IMAGE = 5 * 1024 * 1024  # counted on the base64
MOST_OF_A_REQUEST = 32 * 1024 * 1024
MOST_MARKS = 4
MOST_IMAGES, MOST_IMAGES_IN_SHORT_CONTEXT = 600, 100
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
CITED = ("document", "search_result")
FILES = ("image", "document")


def request_is_small(request: Request) -> Found:
    if request.size > MOST_OF_A_REQUEST:
        yield "", f"the request has {request.size} bytes; {MOST_OF_A_REQUEST} are taken"


def images_are_small(request: Request) -> Found:
    for placed in images(request):
        if problem := what_is_wrong_with_image(placed.block):
            yield f"{placed.at}.source", problem


def images(request: Request) -> list[Placed]:
    return request.nested_of("image")


def what_is_wrong_with_image(block: Json) -> str | None:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None
    size = len(word(source, "data"))
    if source.get("media_type") not in IMAGE_TYPES:
        return f"no image can be {short(source.get('media_type'))}"
    if not size:
        return "the image is empty"
    return f"the image has {size} bytes of base64" if size > MOST_OF_AN_IMAGE else None


def images_are_few(request: Request) -> Found:
    for placed in images(request)[: -most_images(request)]:
        yield placed.at, f"{most_images(request)} images come after this one already"


def most_images(request: Request) -> int:
    is_short = models.has(request.model, "long_context") is False
    return MOST_IMAGES_IN_SHORT_CONTEXT if is_short else MOST_IMAGES


def documents_cite_or_none(request: Request) -> Found:
    documents = request.nested_of(*CITED)
    citing = {is_citing(placed.block) for placed in documents}
    if citing == {True, False} or (True in citing and is_structured(request)):
        for placed in documents:
            if is_citing(placed.block) == is_structured(request):
                yield f"{placed.at}.citations", "some documents can be cited here and some cannot"


def is_citing(block: Json) -> bool:
    citations = block.get("citations")
    return isinstance(citations, dict) and bool(citations.get("enabled"))


def is_structured(request: Request) -> bool:
    """Whether the answer must be JSON of a given form, which cannot hold citations."""
    wanted = request.body.get("output_config")
    return isinstance(wanted, dict) and bool(wanted.get("format"))


def files_come_before_text(request: Request) -> Found:
    newest = -1
    for placed in request.blocks:
        if placed.role == "user" and placed.block["type"] == "text":
            newest = placed.message
        elif placed.block["type"] in FILES and newest == placed.message:
            yield placed.at, "the text about this file stands before it"


# --- cache marks ---


def marks_fit(request: Request) -> Found:
    for placed in request.of(*THOUGHTS):
        if "cache_control" in placed.block:
            yield f"{placed.at}.cache_control", "a thought cannot be marked"


def marks_are_few(request: Request) -> Found:
    for at, _ in marks(request)[:-MOST_MARKS]:
        yield f"{at}.cache_control".lstrip("."), f"{MOST_MARKS} marks come after this one already"


def hours_come_first(request: Request) -> Found:
    minutes = False
    for at, marked in marks(request):
        if is_hour(marked) and minutes:
            yield (
                f"{at}.cache_control".lstrip("."),
                "a mark of an hour comes after one of 5 minutes",
            )
        minutes = minutes or not is_hour(marked)


def is_hour(marked: Json) -> bool:
    mark = marked["cache_control"]
    return isinstance(mark, dict) and mark.get("ttl") == "1h"


def marks(request: Request) -> list[tuple[str, Json]]:
    """Whatever is marked, in the order in which it is cached."""
    everything = [
        *_listed("tools", request.body.get("tools")),
        *_listed("system", request.body.get("system")),
        *((placed.at, placed.block) for placed in request.nested),
        ("", request.body),
    ]
    return [(at, each) for at, each in everything if each.get("cache_control")]


def _listed(at: str, value: Any) -> Iterator[tuple[str, Json]]:
    for index, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, dict):
            yield f"{at}.{index}", each
