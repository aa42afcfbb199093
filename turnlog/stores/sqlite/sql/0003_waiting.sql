-- Turns that wait for a person, what may run once allowed, and writes that began.

-- SQLite cannot change a CHECK: the table is made anew.
CREATE TABLE turns_new (
    id         TEXT PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    user_id    TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'failed')),
    first_seq  INTEGER NOT NULL,
    started_at TEXT    NOT NULL,
    request_id TEXT,
    draft      BLOB,           -- what was shown of an unfinished answer, at most a second old
    owner      TEXT    NOT NULL -- the process that runs it, or did so last
);
INSERT INTO turns_new (id, session_id, user_id, state, first_seq, started_at, request_id, draft, owner)
SELECT id, session_id, user_id, state, first_seq, started_at, request_id, draft, owner FROM turns;
DROP TABLE turns;
ALTER TABLE turns_new RENAME TO turns;
CREATE UNIQUE INDEX one_open_turn_a_session ON turns (session_id) WHERE state IN ('running', 'waiting');
CREATE UNIQUE INDEX one_turn_a_request ON turns (session_id, request_id);
CREATE INDEX running_turns ON turns (owner) WHERE state = 'running';

ALTER TABLE approvals ADD COLUMN args_hash TEXT NOT NULL DEFAULT '';
CREATE INDEX open_approvals ON approvals (expires_at) WHERE status = 'pending';

CREATE TABLE tool_runs (
    tool_use_id     TEXT    NOT NULL,
    session_id      TEXT    NOT NULL,
    user_id         TEXT    NOT NULL,
    turn_id         TEXT    NOT NULL,
    created_at      TEXT    NOT NULL,
    tool_name       TEXT    NOT NULL,
    args            TEXT    NOT NULL, -- JSON, as they were run
    args_hash       TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    status          TEXT    NOT NULL, -- executing, done, failed, in_doubt, happened, did_not_happen
    decided_by      TEXT,
    decided_at      TEXT,
    note            TEXT,
    PRIMARY KEY (session_id, tool_use_id)
);
CREATE INDEX doubts_of_user ON tool_runs (user_id, created_at) WHERE status = 'in_doubt';
