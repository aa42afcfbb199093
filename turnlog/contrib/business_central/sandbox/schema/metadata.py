"""`$metadata`: the entities as EDMX, for tools that read it."""

from functools import cache
from xml.sax.saxutils import quoteattr

from turnlog.contrib.business_central.sandbox.schema.entities import COMPANY, ENTITIES
from turnlog.contrib.business_central.sandbox.schema.fields import Entity, Field

_EDM = {
    "text": "Edm.String",
    "code": "Edm.String",
    "guid": "Edm.Guid",
    "decimal": "Edm.Decimal",
    "integer": "Edm.Int32",
    "boolean": "Edm.Boolean",
    "date": "Edm.Date",
    "datetime": "Edm.DateTimeOffset",
    "option": "Edm.String",
}
_HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>'
    '<edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx">'
    "<edmx:DataServices>"
    '<Schema Namespace="Microsoft.NAV" xmlns="http://docs.oasis-open.org/odata/ns/edm">'
)
_END = "</Schema></edmx:DataServices></edmx:Edmx>"


@cache
def document() -> str:
    entities = [COMPANY, *ENTITIES.values()]
    types = "".join(map(_type, entities))
    sets = "".join(
        f'<EntitySet Name="{entity.set}" EntityType="Microsoft.NAV.{entity.name}"/>'
        for entity in entities
    )
    return f'{_HEAD}{types}<EntityContainer Name="NAV">{sets}</EntityContainer>{_END}'


def _type(entity: Entity) -> str:
    key = '<Key><PropertyRef Name="id"/></Key>'
    inside = "".join(map(_property, entity.fields.values())) + _navigation(entity)
    return f'<EntityType Name="{entity.name}">{key}{inside}</EntityType>'


def _property(field: Field) -> str:
    length = f' MaxLength="{field.length}"' if field.length else ""
    return f'<Property Name={quoteattr(field.name)} Type="{_EDM[field.kind]}"{length}/>'


def _navigation(entity: Entity) -> str:
    kinds = {link.navigation: f"Microsoft.NAV.{link.target}" for link in entity.links}
    if entity.lines:
        kinds[ENTITIES[entity.lines].set] = f"Collection(Microsoft.NAV.{entity.lines})"
    return "".join(
        f'<NavigationProperty Name="{name}" Type="{kind}"/>' for name, kind in kinds.items()
    )
