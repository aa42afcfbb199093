-- The log, and the tables that are folded from it in the same transaction.

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    title      TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    created_at TEXT NOT NULL,
    anchor     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_of_user ON sessions (user_id, created_at);

-- Columns in the order of events/record.py.
CREATE TABLE events (
    session_id  TEXT    NOT NULL REFERENCES sessions (id),
    seq         INTEGER NOT NULL,
    turn_id     TEXT    NOT NULL,
    event_id    TEXT    NOT NULL,
    type        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    at          TEXT    NOT NULL,
    agent_id    TEXT    NOT NULL,
    agent_name  TEXT    NOT NULL,
    event_index INTEGER,
    is_internal INTEGER NOT NULL,
    body        BLOB    NOT NULL,
    seal        BLOB    NOT NULL,
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the log is append-only: no UPDATE'); END;

CREATE TRIGGER events_never_vanish BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'the log is append-only: no DELETE'); END;

-- Also refuses INSERT OR REPLACE, which would not fire the DELETE trigger.
CREATE TRIGGER events_have_no_gap BEFORE INSERT ON events
WHEN NEW.seq <> COALESCE((SELECT MAX(seq) + 1 FROM events WHERE session_id = NEW.session_id), 0)
BEGIN SELECT RAISE(ABORT, 'the log is gap-free: not the next number'); END;

CREATE TABLE turns (
    id         TEXT PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    user_id    TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed')),
    first_seq  INTEGER NOT NULL,
    started_at TEXT    NOT NULL,
    request_id TEXT,
    draft      BLOB,           -- what was shown of an unfinished answer, at most a second old
    owner      TEXT    NOT NULL -- the process that runs it
);
CREATE UNIQUE INDEX one_running_turn_a_session ON turns (session_id) WHERE state = 'running';
CREATE UNIQUE INDEX one_turn_a_request ON turns (session_id, request_id);
CREATE INDEX running_turns ON turns (owner) WHERE state = 'running';

CREATE TABLE messages (
    message_id  TEXT PRIMARY KEY, -- an answer's is the model's own
    session_id  TEXT    NOT NULL,
    user_id     TEXT    NOT NULL,
    turn_id     TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    created_at  TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    content     TEXT    NOT NULL, -- content blocks in order, JSON
    stop_reason TEXT,
    model       TEXT,
    agent_id    TEXT    NOT NULL,
    is_internal INTEGER NOT NULL
);
CREATE INDEX messages_of_session ON messages (session_id, seq);

CREATE TABLE usage (
    message_id         TEXT PRIMARY KEY,
    session_id         TEXT    NOT NULL,
    user_id            TEXT    NOT NULL,
    turn_id            TEXT    NOT NULL,
    seq                INTEGER NOT NULL,
    created_at         TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    thinking_tokens    INTEGER,
    reported           TEXT    NOT NULL -- the usage object as the API sent it, JSON
);
CREATE INDEX usage_of_session ON usage (session_id);
CREATE INDEX usage_of_user ON usage (user_id, created_at);

CREATE TABLE message_citations (
    message_id  TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    session_id  TEXT    NOT NULL,
    user_id     TEXT    NOT NULL,
    turn_id     TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    created_at  TEXT    NOT NULL,
    block_index INTEGER NOT NULL,
    kind        TEXT,
    cited_text  TEXT,
    location    TEXT    NOT NULL, -- the citation as the API sent it, JSON
    PRIMARY KEY (message_id, position)
);
CREATE INDEX citations_of_session ON message_citations (session_id, seq);

CREATE TABLE approvals (
    approval_id TEXT PRIMARY KEY,
    session_id  TEXT    NOT NULL,
    user_id     TEXT    NOT NULL,
    turn_id     TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    created_at  TEXT    NOT NULL,
    tool_use_id TEXT    NOT NULL,
    tool_name   TEXT    NOT NULL,
    args        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    expires_at  TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    decided_by  TEXT,
    decided_at  TEXT,
    reason      TEXT
);
CREATE INDEX approvals_of_user ON approvals (user_id, status);
CREATE INDEX approvals_of_session ON approvals (session_id);
