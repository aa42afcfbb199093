-- As sql/0001_tasks.sql, for PostgreSQL. It is safe to run again.
CREATE TABLE IF NOT EXISTS task_numbers (
    user_id TEXT PRIMARY KEY,
    last    BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS tasks (
    user_id     TEXT    NOT NULL,
    id          BIGINT  NOT NULL,
    title       TEXT    NOT NULL,
    description TEXT    NOT NULL,
    completed   INTEGER NOT NULL DEFAULT 0,
    created_at  TEXT    NOT NULL,
    updated_at  TEXT    NOT NULL,
    key         TEXT, -- of the call that added it: the same call again adds nothing
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS one_task_a_key ON tasks (user_id, key) WHERE key IS NOT NULL;
