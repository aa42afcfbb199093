"""What the database is asked for bills and budgets."""

from turnlog.ports import Charge, Spent
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import SQL


def charges(db: Connection, **bounds: str | None) -> list[Charge]:
    columns = ", ".join(Charge._fields)
    sql = SQL["list_charges"].format(columns=columns, bounds=_conditions(bounds))
    return [Charge(*row) for row in db.execute(sql, bounds)]


def spent(db: Connection, **bounds: str | None) -> Spent:
    sql = SQL["sum_charges"].format(bounds=_conditions(bounds))
    tokens, millions, rest = db.execute(sql, bounds).fetchone()
    return Spent(tokens, millions * 1_000_000 + rest)


def count_messages(db: Connection, session_id: str) -> int:
    (count,) = db.execute(SQL["count_messages"], {"session_id": session_id}).fetchone()
    return int(count)


def _conditions(bounds: dict[str, str | None]) -> str:
    given = [SQL[f"bound_{name}"] for name, value in bounds.items() if value is not None]
    return " AND ".join(given) or SQL["bound_none"]
