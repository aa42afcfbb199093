"""The target of an address such as `companies(ID)/salesInvoices(ID)/salesInvoiceLines`."""

import re
from dataclasses import dataclass, replace

from turnlog.contrib.business_central.sandbox.books.company import Company
from turnlog.contrib.business_central.sandbox.refusal import Refused, refuse
from turnlog.contrib.business_central.sandbox.schema.entities import COMPANY, ENTITIES, SETS
from turnlog.contrib.business_central.sandbox.schema.fields import Entity
from turnlog.contrib.business_central.sandbox.schema.values import is_guid

_SEGMENT = re.compile(r"([$\w.]+)(?:\(([^()]*)\))?")
ACTION = "Microsoft.NAV."


@dataclass(frozen=True)
class Target:
    """A set of rows, one row of it, or an action on that row."""

    entity: Entity
    company: Company | None = None  # None: companies themselves
    id: str = ""  # one row
    document_id: str = ""  # the document that lines belong to
    action: str = ""
    count: bool = False  # /$count

    @property
    def path(self) -> str:
        """The path as `@odata.context` writes it."""
        if self.company is None:
            return self.entity.set
        prefix = f"companies({self.company.id})"
        if self.document_id:
            prefix += f"/{ENTITIES[self.entity.document].set}({self.document_id})"
        return f"{prefix}/{self.entity.set}"


def resolve(path: str, companies: list[Company], default: str) -> Target:
    """The target of a path; `default` is the company that a header or the query names."""
    segments = [_segment(part) for part in path.strip("/").split("/")]
    if segments[0][0] != COMPANY.set:
        return _inside(_default(companies, default), segments)
    name, key = segments[0]
    if key is None:
        count = _is_count(segments[1:])
        return Target(COMPANY, count=count)
    company = _by_key(companies, key)
    if len(segments) == 1:
        return Target(COMPANY, id=company.id)
    return _inside(company, segments[1:])


def _segment(text: str) -> tuple[str, str | None]:
    match = _SEGMENT.fullmatch(text)
    if match is None:
        refuse("BadRequest", "Bad Request - Error in query syntax.")
    return match[1], match[2]


def _default(companies: list[Company], name: str) -> Company:
    if not name:
        return companies[0]
    for company in companies:
        if name in (company.name, company.id):
            return company
    raise Refused("BadRequest_NotFound", f"The company '{name[:50]}' does not exist.")


def _by_key(companies: list[Company], key: str) -> Company:
    id = _guid(key)
    company = next((company for company in companies if company.id == id), None)
    if company is None:
        refuse("Internal_RecordNotFound", f"The Company does not exist. SystemId='{id}'")
    return company


def _guid(key: str) -> str:
    if not is_guid(key):
        refuse("Application_InvalidGUID", f"Invalid format of GUID string: '{key[:50]}'.")
    return key.lower()


def _inside(company: Company, segments: list[tuple[str, str | None]]) -> Target:
    name, key = segments[0]
    if name not in SETS or name == COMPANY.set:
        raise _no_segment(name)
    target = Target(SETS[name], company)
    if key is None:
        return replace(target, count=_is_count(segments[1:]))
    return _of_row(replace(target, id=_guid(key)), segments[1:])


def _of_row(target: Target, rest: list[tuple[str, str | None]]) -> Target:
    if not rest:
        return target
    name, key = rest[0]
    if name.startswith(ACTION) and key in (None, "") and len(rest) == 1:
        return _with_action(target, name.removeprefix(ACTION))
    lines = ENTITIES.get(target.entity.lines)
    if lines is not None and name == lines.set:
        inner = Target(lines, target.company, document_id=target.id)
        if key is None:
            return replace(inner, count=_is_count(rest[1:]))
        return _of_row(replace(inner, id=_guid(key)), rest[1:])
    if key is None and len(rest) == 1:
        return _linked(target, name)
    raise _no_segment(name)


def _with_action(target: Target, action: str) -> Target:
    if action not in target.entity.actions:
        raise _no_segment(ACTION + action)
    return replace(target, action=action)


def _linked(target: Target, navigation: str) -> Target:
    """customers(ID)/currency: the row behind a link."""
    link = target.entity.link(navigation)
    row = target.company.get(target.entity, target.id) if target.company else None
    if link is None or row is None:
        raise _no_segment(navigation)
    return Target(ENTITIES[link.target], target.company, id=row[link.id_field])


def _is_count(rest: list[tuple[str, str | None]]) -> bool:
    if rest and rest != [("$count", None)]:
        raise _no_segment(rest[0][0])
    return bool(rest)


def _no_segment(name: str) -> Refused:
    return Refused(
        "BadRequest_ResourceNotFound", f"Resource not found for the segment '{name[:50]}'."
    )
