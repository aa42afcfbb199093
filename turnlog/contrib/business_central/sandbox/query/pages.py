"""Rows as the API shows them: filtered, ordered, in pages, with expanded links."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from turnlog.contrib.business_central.sandbox.books.company import Company, Row, etag, linked
from turnlog.contrib.business_central.sandbox.query.options import Options
from turnlog.contrib.business_central.sandbox.refusal import Refused, dialog
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.contrib.business_central.sandbox.schema.fields import NO_GUID, NO_TIME, Entity
from turnlog.contrib.business_central.sandbox.schema.values import show
from turnlog.contrib.business_central.sandbox.targets import Target

_VERSION = "27.1.41698.42110"


@dataclass(frozen=True)
class Page:
    """Part of a set, and the place where the next part begins."""

    rows: list[Row]
    count: int
    last_id: str = ""  # the next page begins after it
    top: int | None = None  # what is left of $top


def rows_of(target: Target, companies: list[Company]) -> list[Row]:
    if target.company is None:
        return [company_row(company) for company in companies]
    if target.document_id:
        document = ENTITIES[target.entity.document]
        return target.company.lines(document, target.document_id)
    return target.company.rows(target.entity)


def company_row(company: Company) -> Row:
    row: Row = {"id": company.id, "name": company.name, "displayName": company.name}
    row |= {"systemVersion": _VERSION, "timestamp": 0, "businessProfileId": ""}
    row |= {"systemCreatedAt": NO_TIME, "systemCreatedBy": NO_GUID}
    return row | {"systemModifiedAt": NO_TIME, "systemModifiedBy": NO_GUID}


def arrange(rows: list[Row], options: Options) -> list[Row]:
    if options.matches is not None:
        rows = [row for row in rows if options.matches(row)]
    for order in reversed(options.order):
        rows = sorted(rows, key=lambda row: row[order.field], reverse=order.descending)
    return rows


def page(rows: list[Row], options: Options, preferred: int, largest: int) -> Page:
    """Business Central serves a $top that fits a page whole, and gives no nextLink then."""
    rows = arrange(rows, options)
    count = len(rows)
    rows = _after(rows, options.skip_token) if options.skip_token else rows[options.skip :]
    if options.top is not None:
        rows = rows[: options.top]
    size = min(preferred or largest, largest)
    if len(rows) <= size:
        return Page(rows, count)
    left = None if options.top is None else options.top - size
    return Page(rows[:size], count, rows[size - 1]["id"], left)


def _after(rows: list[Row], id: str) -> list[Row]:
    for at, row in enumerate(rows):
        if row["id"] == id:
            return rows[at + 1 :]
    raise Refused("BadRequest", "The $skiptoken does not name a row of this set.")


def next_link(url: str, query: list[tuple[str, str]], page: Page) -> str:
    """The original options with the place to go on from. `$skip` is already applied."""
    replaced = ("$skip", "$skiptoken", "$top", "aid")
    pairs = [(name, value) for name, value in query if name not in replaced]
    if page.top is not None:
        pairs.append(("$top", str(page.top)))
    pairs += [("aid", "FIN"), ("$skiptoken", page.last_id)]
    return f"{url}?{urlencode(pairs, quote_via=quote, safe='$')}"


def show_row(company: Company | None, entity: Entity, row: Row, options: Options) -> dict[str, Any]:
    """One row: its etag, then its fields, then its expanded links."""
    names = options.select or entity.fields
    shown = {"@odata.etag": etag(row)}
    shown |= {name: show(entity.fields[name], row[name]) for name in names}
    if company is not None:
        for navigation, inner in options.expand:
            shown[navigation] = _expanded(company, entity, row, navigation, inner)
    return shown


def _expanded(company: Company, entity: Entity, row: Row, navigation: str, options: Options) -> Any:
    lines = ENTITIES.get(entity.lines)
    if lines is not None and navigation == lines.set:
        rows = arrange(company.lines(entity, row["id"]), options)[options.skip :]
        return [show_row(company, lines, line, options) for line in rows[: options.top]]
    if navigation == entity.document:
        document = ENTITIES[entity.document]
        parent = company.get(document, row["documentId"])
        return parent and show_row(company, document, parent, options)
    link = entity.link(navigation)
    target = linked(company, link.target, row[link.id_field]) if link else None
    return show_row(company, ENTITIES[link.target], target, options) if link and target else None


def check_lines_have_a_document(target: Target, options: Options) -> None:
    if target.entity.document and not target.document_id and options.matches is None:
        dialog("You must specify a document id to get the lines.")
