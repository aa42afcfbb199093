"""The tasks of users, as SQL. Every statement names the user."""

import sqlite3
from typing import Any

from turnlog.errors import NotFound, TooLarge
from turnlog.ports import MOST_TASKS, Task

TASK = "id, user_id, title, description, completed, created_at, updated_at"


def add(
    db: sqlite3.Connection, user_id: str, title: str, description: str, at: str, key: str | None
) -> Task:
    made = f"SELECT {TASK} FROM tasks WHERE user_id = ? AND key = ?"
    if row := db.execute(made, (user_id, key)).fetchone():
        return _task(row)
    (count,) = db.execute("SELECT count(*) FROM tasks WHERE user_id = ?", (user_id,)).fetchone()
    if count >= MOST_TASKS:
        raise TooLarge(f"There are {MOST_TASKS} tasks already: delete some first.")
    number = _next_number(db, user_id)
    values = (number, user_id, title, description, False, at, at)
    db.execute(f"INSERT INTO tasks ({TASK}, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*values, key))
    return _task(values)


def _next_number(db: sqlite3.Connection, user_id: str) -> int:
    sql = """INSERT INTO task_numbers VALUES (?, 1)
             ON CONFLICT (user_id) DO UPDATE SET last = last + 1 RETURNING last"""
    number: int = db.execute(sql, (user_id,)).fetchone()[0]
    return number


def find(db: sqlite3.Connection, user_id: str, task_id: int) -> Task:
    sql = f"SELECT {TASK} FROM tasks WHERE user_id = ? AND id = ?"
    row = db.execute(sql, (user_id, task_id)).fetchone()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    return _task(row)


def all_of(db: sqlite3.Connection, user_id: str, completed: bool | None) -> list[Task]:
    sql = f"""SELECT {TASK} FROM tasks
              WHERE user_id = ? AND completed = coalesce(?, completed) ORDER BY id"""
    return [_task(row) for row in db.execute(sql, (user_id, completed))]


def update(db: sqlite3.Connection, user_id: str, task_id: int, changes: dict[str, Any]) -> Task:
    find(db, user_id, task_id)
    if changes:
        columns = ", ".join(f"{name} = ?" for name in changes)
        sql = f"UPDATE tasks SET {columns} WHERE user_id = ? AND id = ?"
        db.execute(sql, (*changes.values(), user_id, task_id))
    return find(db, user_id, task_id)


def delete(db: sqlite3.Connection, user_id: str, task_id: int) -> Task:
    task = find(db, user_id, task_id)
    db.execute("DELETE FROM tasks WHERE user_id = ? AND id = ?", (user_id, task_id))
    return task


def _task(row: tuple[Any, ...]) -> Task:
    values = dict(zip(TASK.split(", "), row, strict=True))
    return Task(**(values | {"completed": bool(values["completed"])}))
