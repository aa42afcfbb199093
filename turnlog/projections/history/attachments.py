"""How the model is told the files of a conversation: decided here, before any call, for all.

A file is told as an image, as a PDF, as text by the page, as plain text, or by its name. Each has
its form by its own facts. What all files of the window weigh together has a limit below that of
the API; above it the oldest are told by name from then on, down to half of it, so that the prefix
changes rarely. What the model refused is told in a plainer form from then on, so that the session
goes on. That is a fold over the log: the same log always gives the same.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.ports import ToolSpec
from turnlog.ports.files import Form, Told
from turnlog.projections.history import models

Facts = dict[str, Any]  # as `user_message_sent` has them, with their details
READ_FILE = "read_file"  # the tool that is offered where files are told by name, or cut off
PDF_TYPE = "application/pdf"
MOST_TEXT = 400_000  # characters of one file
MOST_PDF = 20_000_000  # bytes; in base64 a third more, and 32 MB are one request's
TOKENS_A_PAGE = 2_500  # of a PDF: its text, and a picture of it
PIXELS_A_TOKEN = 750
MOST_OF_AN_IMAGE = 3_500_000  # bytes of what a model is given
SIDE, LARGE_SIDE = 1568, 2576  # pixels that models read of an image: by `models.large_images`
MOST_PIXELS = 3_750_000  # that a model reads of the larger ones
# "2000 px when there are more than 20 images"
MOST_LARGE = 20
FEW_LETTERS = 10  # of a page: fewer, on average, are a scan's
MOST_PICTURES = 20  # pages of a scan that are told
MOST_OF_A_PICTURE = 400_000  # bytes
# Codes of errors that come again with each request that holds the same.
REFUSALS = frozenset(("invalid_request", "too_large"))
# How a file is told whose bytes may be why.
AFTER_A_REFUSAL: dict[Form, Form] = {
    "image": "name",
    "large": "name",
    "pdf": "pages",
    "pictures": "name",
}


class Weight(NamedTuple):
    """What files take up in one request."""

    size: int = 0  # bytes on the wire
    tokens: int = 0
    images: int = 0
    pages: int = 0  # of PDFs

    def plus(self, other: "Weight") -> "Weight":
        return Weight(*(a + b for a, b in zip(self, other, strict=True)))

    def half(self) -> "Weight":
        return Weight(*(number // 2 for number in self))

    def fits(self, most: "Weight") -> bool:
        return all(a <= b for a, b in zip(self, most, strict=True))


# "32 MB a request, 600 pages (100 on 200k-context models)", images alike; and room for the rest.
MOST = Weight(size=28_000_000, tokens=600_000, images=100, pages=600)
MOST_IN_SHORT_CONTEXT = Weight(size=28_000_000, tokens=120_000, images=100, pages=100)


def most_of(model: str) -> Weight:
    return MOST_IN_SHORT_CONTEXT if models.has(model, "long_context") is False else MOST


def form_of(facts: Facts, model: str) -> Form:
    """How a file is told while there is room for it."""
    if "dimensions" in facts:
        is_large = facts.get("byModel") and models.has(model, "large_images")
        return "large" if is_large else "image"
    if facts["mediaType"] != PDF_TYPE:
        return "text"
    whole = not facts.get("locked") and facts["size"] <= MOST_PDF
    if whole and weight(facts, "pdf").fits(most_of(model).half()):
        return "pdf"
    is_scan = facts.get("textLength", math.inf) < FEW_LETTERS * facts.get("pages", 1)
    return "pictures" if is_scan and not facts.get("locked") else "pages"


def weight(facts: Facts, form: Form) -> Weight:
    match form:
        case "image":
            sides = facts["dimensions"]
            pixels = min(sides["width"] * sides["height"], 1568 * 1568)
            size = facts.get("modelSize", 0) * 4 // 3
            return Weight(size, pixels // PIXELS_A_TOKEN, images=1)
        case "large":
            width, height = facts["dimensions"]["width"], facts["dimensions"]["height"]
            share = min(1.0, LARGE_SIDE / max(width, height))
            area = int(width * height * share * share)
            larger = min((LARGE_SIDE / SIDE) ** 2, (max(width, height) / SIDE) ** 2)
            size = min(int(facts.get("modelSize", 0) * larger), MOST_OF_AN_IMAGE) * 4 // 3
            return Weight(size, min(area, MOST_PIXELS) // PIXELS_A_TOKEN, images=1)
        case "pictures":
            count = min(facts.get("pages", 1), MOST_PICTURES)
            size = count * MOST_OF_A_PICTURE * 4 // 3
            return Weight(size, count * TOKENS_A_PAGE, pages=count)
        case "pdf":
            pages = facts.get("pages", 1)
            return Weight(facts["size"] * 4 // 3, pages * TOKENS_A_PAGE, pages=pages)
        case "name":
            return Weight()
    length = min(facts.get("textLength", 0), MOST_TEXT)
    return Weight(length * 2, length // 4)


def too_much(files: Iterable[Facts], model: str) -> bool:
    """Whether the files of one message alone are more than a request can hold."""
    told = _few_large([Told("", facts, form_of(facts, model)) for facts in files])
    return not _sum(told).fits(most_of(model))


def is_refusal(event: Event) -> bool:
    """Whether the model took no such request: files may be why."""
    return isinstance(event, k.Error) and event.code in REFUSALS


def plan(log: Sequence[Stamped], model: str) -> list[Told]:
    """How each file of these events is told, oldest first."""
    most = most_of(model)
    told: list[Told] = []
    total = Weight()
    oldest = 0  # the first that is not told by name yet
    turn, first = "", 0  # the last one that brought files, and the first of these
    for entry in log:
        if is_refusal(entry.event):  # of a turn without files of its own: any may be why
            since = first if entry.turn_id == turn else 0
            told[since:] = [_plainer(each) for each in told[since:]]
        if not isinstance(entry.event, k.UserMessageSent) or not entry.event.files:
            continue
        turn, first = entry.turn_id, len(told)
        details = entry.event.file_details or [{}] * len(entry.event.files)
        for shown, more in zip(entry.event.files, details, strict=True):
            facts = shown | more
            told.append(Told(entry.event.message_id, facts, form_of(facts, model)))
        told = _few_large(told)
        total = _sum(told[oldest:])
        if not total.fits(most):  # of the newest message all stay
            while oldest < first and not total.fits(most.half()):
                told[oldest] = told[oldest]._replace(form="name")
                oldest += 1
                total = _sum(told[oldest:])
    return told


def _plainer(told: Told) -> Told:
    return told._replace(form=AFTER_A_REFUSAL.get(told.form, told.form))


def _few_large(told: list[Told]) -> list[Told]:
    """Where there are many images, none may be large. That changes once: they only grow more."""
    if _sum(told).images <= MOST_LARGE:
        return told
    return [each._replace(form="image") if each.form == "large" else each for each in told]


def _sum(told: Iterable[Told]) -> Weight:
    total = Weight()
    for each in told:
        total = total.plus(weight(each.facts, each.form))
    return total


def tokens_of(told: Iterable[Told]) -> dict[str, int]:
    """By message: what its files weigh."""
    tokens: dict[str, int] = {}
    for each in told:
        weighs = weight(each.facts, each.form).tokens
        tokens[each.message_id] = tokens.get(each.message_id, 0) + weighs
    return tokens


def needs_tool(told: Iterable[Told]) -> bool:
    """Whether some file is not told as a whole."""
    cut = ("pages", "text")
    return any(
        each.form == "name" or (each.form in cut and each.facts.get("textLength", 0) > MOST_TEXT)
        for each in told
    )


# As the model sees it; a test compares it with the tool itself.
FILE_TOOL = ToolSpec(
    name=READ_FILE,
    description=(
        "Read pages of a file that the user has attached. Pages count from 1; up to 20 at once."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "file_id": {"type": "string"},
            "first_page": {"type": "integer", "default": 1},
            "last_page": {"type": "integer"},
        },
        "required": ["file_id"],
    },
)


def named(facts: Facts) -> str:
    """A file told by name."""
    pages = f", {facts['pages']} pages" if facts.get("pages", 0) > 1 else ""
    how = "an image" if "dimensions" in facts else facts["mediaType"]
    advice = "ask the user to attach it again" if "dimensions" in facts else f"use {READ_FILE}"
    return (
        f"[The file {facts['name']!r} ({how}{pages}, id {facts['id']}) was attached here."
        f" To see what is in it, {advice}.]"
    )


def missing(facts: Facts) -> str:
    """A file that its user has deleted."""
    return f"[The file {facts['name']!r} was attached here. The user has deleted it.]"


def lost(facts: Facts) -> str:
    """A file whose bytes are gone, and nobody knows why."""
    return f"[The file {facts['name']!r} was attached here. Its content is not there any more.]"


def shown_in_part(facts: Facts, last: int) -> str:
    """What follows the pictures of a scan."""
    return (
        f"[Of {facts['name']!r} pages 1 to {last} of {facts['pages']} are given here: it is a scan,"
        " and too large. The user can attach other pages as a file of their own.]"
    )


def cut_off(facts: Facts, last: int) -> str:
    """What follows a file that is told in part."""
    return (
        f"[Of {facts['name']!r} (id {facts['id']}) pages 1 to {last} of {facts['pages']} are given"
        f" here. Use {READ_FILE} for others.]"
        if facts.get("pages", 1) > 1
        else f"[The end of {facts['name']!r} is missing here: it is too long.]"
    )
