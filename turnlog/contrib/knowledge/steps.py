"""What a library does to its tables, one step of a transaction each; on any database."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.contrib.knowledge.document import MOST_DOCUMENTS, MOST_PASSAGES, Found
from turnlog.contrib.knowledge.places import Place, Row
from turnlog.errors import NotFound, TooLarge
from turnlog.ports.library import Document
from turnlog.stores.sql.connection import Connection

SQL = Mapping[str, str]


class Claim(NamedTuple):
    """A document that is to be indexed here, from the passage `done` on."""

    id: str
    owner: str
    title: str
    content: str
    done: int


def listed(values: Collection[Any]) -> str:
    """As the statements take a list."""
    return json.dumps(sorted(values))


# documents


def add(db: Connection, sql: SQL, row: Mapping[str, Any]) -> Document:
    db.lock(f"library of {row['owner']}")
    count, passages = db.execute(sql["count_documents"], {"owner": row["owner"]}).fetchone()
    same = {name: row[name] for name in ("owner", "sha256", "title")}
    kept = db.execute(sql["same_document"], same).fetchone()
    if kept is None:
        if count >= MOST_DOCUMENTS:
            raise TooLarge(f"There are {MOST_DOCUMENTS:,} documents already: delete some first.")
        if passages + row["passages"] > MOST_PASSAGES:
            raise TooLarge("There is too much in the documents already: delete some first.")
        db.execute(sql["keep_document"], row)
        kept = db.execute(sql["same_document"], same).fetchone()
    return _document(kept)


def documents(db: Connection, sql: SQL, owners: Collection[str]) -> list[Document]:
    rows = db.execute(sql["list_documents"], {"owners": listed(owners)})
    return [_document(row) for row in rows]


def document(db: Connection, sql: SQL, owners: Collection[str], document_id: str) -> Document:
    given = {"owners": listed(owners), "id": document_id}
    row = db.execute(sql["get_document"], given).fetchone()
    if row is None:
        raise NotFound("There is no such document.")
    return _document(row)


def delete(db: Connection, sql: SQL, owners: Collection[str], document_id: str) -> Document:
    found = document(db, sql, owners, document_id)
    given = {"owners": listed(owners), "id": document_id}
    if db.execute(sql["delete_document"], given).fetchone() is None:  # somebody else just did
        raise NotFound("There is no such document.")
    db.execute(sql["touch_shelf"], {"owner": found.owner})
    return found


# finding


def versions(db: Connection, sql: SQL, owners: Collection[str]) -> dict[str, int]:
    return dict(tuple(row) for row in db.execute(sql["list_shelves"], {"owners": listed(owners)}))


def vectors(db: Connection, sql: SQL, owner: str, most: int) -> list[tuple[int, bytes]]:
    rows = db.execute(sql["list_vectors"], {"owner": owner, "most": most})
    return [(row[0], row[1]) for row in rows]


def passages(
    db: Connection, sql: SQL, owners: Collection[str], ids: Sequence[int]
) -> dict[int, Found]:
    rows = db.execute(sql["get_passages"], {"ids": listed(ids), "owners": listed(owners)})
    return {row[0]: _found(row) for row in rows}


# indexing


def claim(db: Connection, sql: SQL, me: str, now: str, until: str) -> Claim | None:
    row = db.execute(sql["claim"], {"me": me, "now": now, "until": until}).fetchone()
    return None if row is None else Claim(*row)


def is_waiting(db: Connection, sql: SQL) -> bool:
    return db.execute(sql["is_waiting"]).fetchone() is not None


def keep(
    db: Connection, place: Place, title: str, rows: Sequence[Row], progress: Mapping[str, Any]
) -> bool:
    """A batch of passages. False: the document is not ours any more, and nothing is kept."""
    if db.execute(place.statements["advance"], progress).fetchone() is None:
        return False
    for row in rows:
        place.keep_passage(db, title, row)
    return True


def finish(db: Connection, sql: SQL, outcome: Mapping[str, Any]) -> None:
    row = db.execute(sql["finish"], outcome).fetchone()
    if row is not None:
        db.execute(sql["touch_shelf"], {"owner": row[0]})


def _document(row: Sequence[Any]) -> Document:
    return Document(**dict(zip(Document.__struct_fields__, row, strict=True)))


def _found(row: Sequence[Any]) -> Found:
    return Found(**dict(zip(Found.__struct_fields__, row[:7], strict=True)))
