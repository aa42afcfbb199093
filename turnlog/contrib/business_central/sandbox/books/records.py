"""Creating, changing and removing rows, with the checks that Business Central makes.

"Field order in the body matters: each field runs its validation in turn and may overwrite
others." So fields are assigned one by one; `documents.validate` sets those that follow from each.
"""

from collections.abc import Iterator
from typing import Any

from turnlog.contrib.business_central.sandbox.books import documents
from turnlog.contrib.business_central.sandbox.books.company import Company, Row
from turnlog.contrib.business_central.sandbox.refusal import dialog, refuse
from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES, LOCAL_CURRENCY
from turnlog.contrib.business_central.sandbox.schema.fields import NO_GUID, Entity, Link
from turnlog.contrib.business_central.sandbox.schema.values import accept, empty

DEFAULTS: dict[str, Row] = {
    "customer": {"currencyCode": LOCAL_CURRENCY, "taxLiable": False},
    "vendor": {"currencyCode": LOCAL_CURRENCY},
    "item": {"type": "Inventory"},
    "salesInvoice": {"status": "Draft", "currencyCode": LOCAL_CURRENCY},
    "salesOrder": {"status": "Draft", "currencyCode": LOCAL_CURRENCY},
}


def create(company: Company, entity: Entity, values: Row) -> Row:
    """A new row, numbered, checked and computed, with the lines of a document."""
    row = {name: empty(field) for name, field in entity.fields.items()}
    row |= DEFAULTS.get(entity.name, {})
    row["id"] = _id_for(company, entity, values)
    if entity.lines:
        documents.set_dates(company, row)
    lines = values.get(_lines_set(entity), []) if entity.lines else []
    _assign(company, entity, row, {k: v for k, v in values.items() if k != "id"}, new=True)
    _number(company, entity, row)
    _check(company, entity, row)
    if entity.document:
        return documents.put_line(company, entity, row)
    written = company.put(entity, row)
    return _with_lines(company, entity, written, lines)


def change(company: Company, entity: Entity, row: Row, values: Row) -> Row:
    """The row with these fields changed."""
    documents.refuse_if_posted(company, entity, row)
    changed = dict(row)
    _assign(company, entity, changed, values, new=False)
    if changed.get("documentId") != row.get("documentId"):
        dialog("The documentId of a line cannot be changed.")
    _check(company, entity, changed)
    if entity.document:
        return documents.put_line(company, entity, changed)
    company.put(entity, changed)
    return documents.total(company, entity, row["id"])


def remove(company: Company, entity: Entity, row: Row) -> None:
    documents.refuse_if_posted(company, entity, row)
    for why in _uses(company, entity, row):
        dialog(f"You cannot delete {entity.caption} {row[entity.key]} because {why}")
    company.remove(entity, row["id"])
    if entity.lines:
        for line in company.lines(entity, row["id"]):
            company.remove(ENTITIES[entity.lines], line["id"])
    if entity.document:
        documents.total(company, ENTITIES[entity.document], row["documentId"])


# --- steps ---


def _lines_set(entity: Entity) -> str:
    return ENTITIES[entity.lines].set if entity.lines else ""


def _id_for(company: Company, entity: Entity, values: Row) -> str:
    """ "immutable; it may be supplied on create" """
    if "id" not in values:
        return company.new_id()
    id: str = accept(entity.fields["id"], values["id"])
    if id == NO_GUID:
        return company.new_id()
    if company.get(entity, id):
        _exists(entity, "SystemId", id)
    return id


def _exists(entity: Entity, field: str, value: str) -> None:
    refuse(
        "Internal_EntityWithSameKeyExists",
        f"The {entity.caption} already exists. Identification fields and values: {field}='{value}'",
    )


def _assign(company: Company, entity: Entity, row: Row, values: Row, *, new: bool) -> None:
    for name, value in values.items():
        if "@" in name or (new and name == _lines_set(entity)):
            continue  # an annotation, such as an etag that somebody put into the body
        field = entity.fields.get(name)
        if field is None:
            _unknown(entity, name)
        elif field.read_only:
            refuse("BadRequest_InvalidOperation", f"Control '{name}' is read-only.")
        else:
            row[name] = accept(field, value)
            _follow(company, entity, row, name, values)
            documents.validate(company, entity, row, name)


def _unknown(entity: Entity, name: str) -> None:
    refuse(
        "BadRequest",
        f"The property '{name[:50]}' does not exist on type 'Microsoft.NAV.{entity.name}'."
        " Make sure to only use property names that are defined by the type.",
    )


def _follow(company: Company, entity: Entity, row: Row, name: str, values: Row) -> None:
    """Set the other field of a pair, such as currencyCode beside currencyId."""
    for link in entity.links:
        if name in (link.id_field, link.code_field):
            _pair(company, row, link, name, values)


def _pair(company: Company, row: Row, link: Link, name: str, values: Row) -> None:
    target = ENTITIES[link.target]
    by_id = name == link.id_field
    if row[name] in ("", NO_GUID, link.local):
        row[link.id_field] = NO_GUID
        row |= {name: link.local for name in (link.code_field, link.name_field) if name}
        return
    wanted = {"id" if by_id else target.key: row[name]}
    linked = company.find(target, **wanted)
    if linked is None:
        dialog(f'The "{name}" does not match to a {target.caption}.')
    row[link.id_field] = linked["id"]
    if link.name_field:
        row[link.name_field] = linked["displayName"]
    if link.code_field:
        other = link.code_field if by_id else link.id_field
        actual = linked[target.key] if by_id else linked["id"]
        if other in values and str(values[other]).upper() != actual.upper():
            dialog(f"The {link.navigation} values do not match to a specific {target.caption}.")
        row[link.code_field] = linked[target.key]


def _number(company: Company, entity: Entity, row: Row) -> None:
    if entity.series and not row["number"]:
        row["number"] = company.next_number(entity.series, entity)


def _check(company: Company, entity: Entity, row: Row) -> None:
    for name in entity.required:
        if not row[name].strip():
            dialog(f'A "{name}" must be provided.')
    documents.check(company, entity, row)
    if entity.document:
        return
    same = company.find(entity, **{entity.key: row[entity.key]})
    if same is not None and same["id"] != row["id"]:
        _exists(entity, entity.key_caption, row[entity.key])


def _with_lines(company: Company, entity: Entity, row: Row, lines: Any) -> Row:
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
        refuse("BadRequest", "Invalid Request Body")
    for line in lines:
        create(company, ENTITIES[entity.lines], line | {"documentId": row["id"]})
    return company.get(entity, row["id"]) or row


def _uses(company: Company, entity: Entity, row: Row) -> Iterator[str]:
    """Why a row cannot be removed: the rows that use it."""
    for other in ENTITIES.values():
        for link in other.links:
            if link.target != entity.name:
                continue
            for using in company.rows(other):
                if using[link.id_field] == row["id"]:
                    yield documents.describe_use(company, other, using, entity)
