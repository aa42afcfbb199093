"""Makes files, citations and cache marks fit. A line says what was left out."""

from typing import Any

import msgspec

from turnlog.projections.history.blocks import THOUGHTS
from turnlog.projections.history.checks import files as check
from turnlog.projections.history.request import Json, Placed, Request, deep, each_block, text


def leave_out_bad_images(request: Request) -> Json:
    def change(placed: Placed) -> list[Json]:
        image = placed.block["type"] == "image"
        problem = check.what_is_wrong_with_image(placed.block) if image else None
        return [_left_out(placed.block, problem) if problem else placed.block]

    return each_block(request, deep(change))


def leave_out_first_images(request: Request) -> Json:
    places = {at for at, _ in check.images_are_few(request)}
    return _left_out_at(request, places, "there are too many")


def leave_out_large_files(request: Request) -> Json:
    """The oldest first, until the request fits."""
    too_much = request.size - check.MOST_OF_A_REQUEST
    places = set()
    for placed in request.nested:
        if too_much > 0 and placed.block["type"] in check.FILES:
            places.add(placed.at)
            too_much -= len(msgspec.json.encode(placed.block)) - 200  # the line that says so
    return _left_out_at(request, places, "the request was too large")


def _left_out_at(request: Request, places: set[str], why: str) -> Json:
    def change(placed: Placed) -> list[Json]:
        return [_left_out(placed.block, why) if placed.at in places else placed.block]

    return each_block(request, deep(change))


def _left_out(block: Json, why: str) -> Json:
    return text(f"({block['type']} left out: {why})")


def cite_all_or_none(request: Request) -> Json:
    """All, because answers may already cite some; none where the answer must be JSON."""
    enabled = not check.is_structured(request)

    def change(placed: Placed) -> list[Json]:
        block = placed.block
        differs = block["type"] in check.CITED and check.is_citing(block) != enabled
        return [block | {"citations": {"enabled": enabled}} if differs else block]

    return each_block(request, deep(change))


# --- cache marks ---


def unmark_thoughts(request: Request) -> Json:
    def change(placed: Placed) -> list[Json]:
        thought = placed.block["type"] in THOUGHTS and "cache_control" in placed.block
        return [_unmarked(placed.block) if thought else placed.block]

    return each_block(request, deep(change))


def unmark_first(request: Request) -> Json:
    """The last marks stay: they cover the most."""
    surplus = {at for at, _ in check.marks(request)[: -check.MOST_MARKS]}
    return _marked_anew(request, surplus, _unmarked)


def shorten_hours(request: Request) -> Json:
    late = {
        at.removesuffix("cache_control").rstrip(".") for at, _ in check.hours_come_first(request)
    }
    return _marked_anew(request, late, _shortened)


def _marked_anew(request: Request, places: set[str], change: Any) -> Json:
    body = each_block(request, deep(lambda p: [change(p.block) if p.at in places else p.block]))
    for name in ("tools", "system"):
        listed = body.get(name)
        if isinstance(listed, list):
            pairs = enumerate(listed)
            body |= {name: [change(b) if f"{name}.{i}" in places else b for i, b in pairs]}
    return change(body) if "" in places else body


def _unmarked(block: Json) -> Json:
    return {name: value for name, value in block.items() if name != "cache_control"}


def _shortened(block: Json) -> Json:
    return block | {"cache_control": block["cache_control"] | {"ttl": "5m"}}
