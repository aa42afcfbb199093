"""Tasks on a connection: each function is one step of one transaction."""

from typing import Any

from turnlog.contrib.tasks.task import MOST_TASKS, Task
from turnlog.errors import NotFound, TooLarge
from turnlog.statements import read_statements
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import update

SQL = read_statements("turnlog.contrib.tasks")


def add(db: Connection, user_id: str, key: str | None, values: dict[str, str]) -> Task:
    place = {"user_id": user_id, "key": key}
    if row := db.execute(SQL["get_task_of_key"], place).fetchone():
        return _task(row)
    (count,) = db.execute(SQL["count_tasks"], place).fetchone()
    if count >= MOST_TASKS:
        raise TooLarge(f"There are {MOST_TASKS} tasks already: delete some first.")
    (number,) = db.execute(SQL["take_number"], place).fetchone()
    db.execute(SQL["add_task"], values | place | {"id": number})
    return _find(db, user_id, number)


def _find(db: Connection, user_id: str, task_id: int) -> Task:
    row = db.execute(SQL["get_task"], {"user_id": user_id, "id": task_id}).fetchone()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    return _task(row)


def all_of(db: Connection, user_id: str, completed: bool | None) -> list[Task]:
    rows = db.execute(SQL["list_tasks"], {"user_id": user_id, "completed": completed})
    return [_task(row) for row in rows]


def change(db: Connection, user_id: str, task_id: int, changes: dict[str, Any]) -> Task:
    _find(db, user_id, task_id)
    if changes:
        place = {"user_id": user_id, "id": task_id}
        db.execute(update("tasks", tuple(changes), tuple(place)), changes | place)
    return _find(db, user_id, task_id)


def delete(db: Connection, user_id: str, task_id: int) -> Task:
    task = _find(db, user_id, task_id)
    db.execute(SQL["delete_task"], {"user_id": user_id, "id": task_id})
    return task


def _task(row: tuple[Any, ...]) -> Task:
    values = dict(zip(Task.__struct_fields__, row, strict=True))
    return Task(**(values | {"completed": bool(values["completed"])}))
