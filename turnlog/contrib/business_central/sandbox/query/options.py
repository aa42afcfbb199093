"""Query options of a request. Unknown ones are ignored, as Business Central ignores them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from turnlog.contrib.business_central.sandbox.query.parser import parse
from turnlog.contrib.business_central.sandbox.query.predicate import (
    Predicate,
    predicate,
    unknown_property,
)
from turnlog.contrib.business_central.sandbox.refusal import refuse
from turnlog.contrib.business_central.sandbox.schema.fields import Entity

NEWEST = "2.1"  # schema version
MOST_NESTED = 5  # $expand inside of $expand


@dataclass(frozen=True)
class Order:
    field: str
    descending: bool = False


@dataclass(frozen=True)
class Options:
    """Which rows of a set are wanted, and how they are shown."""

    matches: Predicate | None = None
    select: tuple[str, ...] = ()
    order: tuple[Order, ...] = ()
    top: int | None = None
    skip: int = 0
    count: bool = False
    expand: tuple[tuple[str, "Options"], ...] = ()
    skip_token: str = ""


def read(
    pairs: Iterable[tuple[str, str]], entity: Entity, entities: dict[str, Entity], depth: int = 0
) -> Options:
    """The options, checked against the entity."""
    values = dict(pairs)
    options = Options(
        select=_select(values.get("$select", ""), entity),
        order=tuple(_order(part, entity) for part in _parts(values.get("$orderby", ""))),
        skip=_number("$skip", values.get("$skip", "0")),
        count=values.get("$count", "").lower() == "true",
        expand=_expand(values.get("$expand", ""), entity, entities, depth),
        skip_token=values.get("$skiptoken", ""),
    )
    if "$top" in values:
        options = replace(options, top=_number("$top", values["$top"]))
    if "$filter" in values:
        newest = values.get("$schemaversion") == NEWEST
        options = replace(
            options, matches=predicate(parse(values["$filter"]), entity, newest=newest)
        )
    return options


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _select(text: str, entity: Entity) -> tuple[str, ...]:
    names = _parts(text)
    for name in names:
        if name != "*" and name not in entity.fields:
            raise unknown_property(name, entity)
    return () if "*" in names else tuple(names)


def _order(part: str, entity: Entity) -> Order:
    name, _, direction = part.partition(" ")
    if name not in entity.fields:
        raise unknown_property(name, entity)
    if direction.strip() not in ("", "asc", "desc"):
        refuse("BadRequest", f"Syntax error at position {len(name)} in '{part[:100]}'.")
    return Order(name, direction.strip() == "desc")


def _number(option: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        refuse(
            "BadRequest",
            f"Invalid value '{text[:20]}' for {option} query option found. The {option} query"
            " option requires a non-negative integer value.",
        )
    return int(text)


def _expand(
    text: str, entity: Entity, entities: dict[str, Entity], depth: int
) -> tuple[tuple[str, Options], ...]:
    if text and depth >= MOST_NESTED:
        refuse("BadRequest", "The maximum depth of $expand has been exceeded.")
    return tuple(_expanded(part, entity, entities, depth) for part in split(text, ","))


def _expanded(
    part: str, entity: Entity, entities: dict[str, Entity], depth: int
) -> tuple[str, Options]:
    name, _, rest = part.partition("(")
    target = target_of(name, entity, entities)
    if rest and not rest.endswith(")"):
        refuse("BadRequest", f"')' expected at position {len(part)} in '{part[:200]}'.")
    pairs = [option.partition("=") for option in split(rest.removesuffix(")"), ";")]
    inner = [(key.strip(), value.strip()) for key, _, value in pairs]
    return name, read(inner, target, entities, depth + 1)


def target_of(name: str, entity: Entity, entities: dict[str, Entity]) -> Entity:
    """The entity behind a navigation name."""
    if entity.lines and name == entities[entity.lines].set:
        return entities[entity.lines]
    if entity.document and name == entity.document:
        return entities[entity.document]
    link = entity.link(name)
    if link is None:
        raise unknown_property(name, entity)
    return entities[link.target]


def split(text: str, mark: str) -> list[str]:
    """Split where the mark is outside of brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, letter in enumerate(text):
        quoted ^= letter == "'"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == mark and not quoted and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]
