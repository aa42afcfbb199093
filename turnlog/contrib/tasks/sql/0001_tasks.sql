-- What users want done. A number belongs to its user and is never used again.
CREATE TABLE task_numbers (
    user_id TEXT PRIMARY KEY,
    last    INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE tasks (
    user_id     TEXT    NOT NULL,
    id          INTEGER NOT NULL,
    title       TEXT    NOT NULL,
    description TEXT    NOT NULL,
    completed   INTEGER NOT NULL DEFAULT 0,
    created_at  TEXT    NOT NULL,
    updated_at  TEXT    NOT NULL,
    key         TEXT, -- of the call that added it: the same call again adds nothing
    PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX one_task_a_key ON tasks (user_id, key) WHERE key IS NOT NULL;
