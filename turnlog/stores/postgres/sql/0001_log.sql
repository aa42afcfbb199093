-- The log, and the tables that are folded from it in the same transaction.

CREATE TABLE sessions (
    id               TEXT PRIMARY KEY,
    user_id          TEXT   NOT NULL,
    title            TEXT   NOT NULL,
    agent_id         TEXT   NOT NULL,
    created_at       TEXT   COLLATE "C" NOT NULL,
    anchor           BIGINT NOT NULL DEFAULT 0,
    archived         INTEGER NOT NULL DEFAULT 0,
    thinking_enabled INTEGER NOT NULL DEFAULT 0,
    thinking_budget  INTEGER NOT NULL DEFAULT 10000,
    web_search       INTEGER NOT NULL DEFAULT 0,
    searches         BIGINT NOT NULL DEFAULT 0,
    engine           TEXT   NOT NULL DEFAULT 'claude'
);
CREATE INDEX sessions_in_order ON sessions (user_id, archived, created_at DESC, id DESC);

-- Columns in the order of events/record.py. Parts by session: a session is whole in one of them.
CREATE TABLE events (
    session_id  TEXT    NOT NULL,
    seq         BIGINT  NOT NULL,
    turn_id     TEXT    NOT NULL,
    event_id    TEXT    NOT NULL,
    type        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    at          TEXT    NOT NULL,
    agent_id    TEXT    NOT NULL,
    agent_name  TEXT    NOT NULL,
    event_index BIGINT,
    is_internal INTEGER NOT NULL,
    body        BYTEA   NOT NULL,
    salt        BYTEA,
    digest      BYTEA,
    seal        BYTEA   NOT NULL,
    PRIMARY KEY (session_id, seq)
) PARTITION BY HASH (session_id);
DO $$ BEGIN
    FOR part IN 0..7 LOOP
        EXECUTE format('CREATE TABLE events_%s PARTITION OF events'
                       ' FOR VALUES WITH (MODULUS 8, REMAINDER %s)', part, part);
    END LOOP;
END $$;
CREATE INDEX questions ON events (session_id, seq) WHERE type = 'user_message_sent';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the log is append-only: no %', TG_OP;
END $$;
CREATE TRIGGER events_never_change BEFORE UPDATE OR DELETE ON events
FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_never_vanish BEFORE TRUNCATE ON events
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION refuse_gap() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM written WHERE seq > 0 AND NOT EXISTS (
            SELECT FROM events
            WHERE events.session_id = written.session_id AND events.seq = written.seq - 1
        )
    ) THEN
        RAISE EXCEPTION 'the log is gap-free: not the next number';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER events_have_no_gap AFTER INSERT ON events
REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION refuse_gap();

CREATE TABLE turns (
    id         TEXT PRIMARY KEY,
    session_id TEXT   NOT NULL REFERENCES sessions (id),
    user_id    TEXT   NOT NULL,
    state      TEXT   NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'failed')),
    first_seq  BIGINT NOT NULL,
    started_at TEXT   COLLATE "C" NOT NULL,
    request_id TEXT,
    owner      TEXT   NOT NULL, -- the node that runs it, or did so last
    lease      TEXT   NOT NULL DEFAULT ''
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX one_open_turn_a_session ON turns (session_id) WHERE state IN ('running', 'waiting');
CREATE UNIQUE INDEX one_turn_a_request ON turns (session_id, request_id);
CREATE INDEX running_turns ON turns (owner) WHERE state = 'running';
CREATE INDEX turns_of_user ON turns (user_id, started_at);

-- What was shown of an unfinished answer, piece by piece: a piece is written once.
CREATE TABLE drafts (
    turn_id TEXT    NOT NULL REFERENCES turns (id),
    part    INTEGER NOT NULL, -- 0, 1, ...
    piece   BYTEA   NOT NULL,
    PRIMARY KEY (turn_id, part)
);

-- Documents are JSON and not JSONB: that refuses \u0000, and writes numbers anew, so that a row
-- would not be what the log says.
CREATE TABLE messages (
    message_id         TEXT PRIMARY KEY, -- an answer's is the model's own
    session_id         TEXT    NOT NULL,
    user_id            TEXT    NOT NULL,
    turn_id            TEXT    NOT NULL,
    seq                BIGINT  NOT NULL,
    created_at         TEXT    NOT NULL,
    role               TEXT    NOT NULL,
    content            JSON    NOT NULL,
    stop_reason        TEXT,
    model              TEXT,
    agent_id           TEXT    NOT NULL,
    is_internal        INTEGER NOT NULL,
    input_tokens       BIGINT,
    output_tokens      BIGINT,
    cache_write_tokens BIGINT,
    cache_read_tokens  BIGINT,
    thinking_tokens    BIGINT,
    cost_picousd       BIGINT
);
CREATE INDEX messages_of_session ON messages (session_id, seq);

CREATE TABLE usage (
    message_id            TEXT    NOT NULL,
    part                  INTEGER NOT NULL,
    session_id            TEXT    NOT NULL,
    user_id               TEXT    NOT NULL,
    turn_id               TEXT    NOT NULL,
    seq                   BIGINT  NOT NULL,
    created_at            TEXT    COLLATE "C" NOT NULL,
    agent_id              TEXT    NOT NULL,
    tools                 TEXT    NOT NULL,
    kind                  TEXT    NOT NULL,
    model                 TEXT    NOT NULL,
    input_tokens          BIGINT  NOT NULL,
    output_tokens         BIGINT  NOT NULL,
    cache_write_5m_tokens BIGINT  NOT NULL,
    cache_write_1h_tokens BIGINT  NOT NULL,
    cache_read_tokens     BIGINT  NOT NULL,
    thinking_tokens       BIGINT,
    web_searches          BIGINT  NOT NULL,
    service_tier          TEXT    NOT NULL,
    geo                   TEXT    NOT NULL,
    speed                 TEXT    NOT NULL,
    partial               INTEGER NOT NULL,
    cost_picousd          BIGINT, -- whole picodollars; NULL is unknown, not zero
    reported              JSON    NOT NULL,
    PRIMARY KEY (message_id, part)
);
CREATE INDEX usage_of_session ON usage (session_id);
CREATE INDEX usage_of_user ON usage (user_id, created_at);
CREATE INDEX usage_in_order ON usage (created_at);

CREATE TABLE message_citations (
    message_id  TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    session_id  TEXT    NOT NULL,
    user_id     TEXT    NOT NULL,
    turn_id     TEXT    NOT NULL,
    seq         BIGINT  NOT NULL,
    created_at  TEXT    NOT NULL,
    block_index BIGINT  NOT NULL,
    kind        TEXT,
    cited_text  TEXT,
    location    JSON    NOT NULL,
    PRIMARY KEY (message_id, position)
);
CREATE INDEX citations_of_session ON message_citations (session_id, seq);

CREATE TABLE approvals (
    approval_id TEXT PRIMARY KEY,
    session_id  TEXT   NOT NULL,
    user_id     TEXT   NOT NULL,
    turn_id     TEXT   NOT NULL,
    seq         BIGINT NOT NULL,
    created_at  TEXT   COLLATE "C" NOT NULL,
    tool_use_id TEXT   NOT NULL,
    tool_name   TEXT   NOT NULL,
    args        JSON   NOT NULL,
    args_hash   TEXT   NOT NULL DEFAULT '',
    description TEXT   NOT NULL,
    expires_at  TEXT   COLLATE "C" NOT NULL,
    status      TEXT   NOT NULL,
    decided_by  TEXT,
    decided_at  TEXT,
    reason      TEXT,
    may_decide  TEXT   NOT NULL DEFAULT 'asker',
    cost_picousd BIGINT -- NULL is unknown
);
CREATE INDEX approvals_of_user ON approvals (user_id, status, created_at);
CREATE INDEX approvals_for_others ON approvals (status, may_decide) WHERE may_decide <> 'asker';
CREATE INDEX approvals_of_session ON approvals (session_id);
CREATE INDEX open_approvals ON approvals (expires_at) WHERE status = 'pending';

CREATE TABLE tool_runs (
    tool_use_id     TEXT NOT NULL,
    session_id      TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    turn_id         TEXT NOT NULL,
    created_at      TEXT COLLATE "C" NOT NULL,
    tool_name       TEXT NOT NULL,
    args            JSON NOT NULL,
    args_hash       TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    status          TEXT NOT NULL,
    decided_by      TEXT,
    decided_at      TEXT,
    note            TEXT,
    PRIMARY KEY (session_id, tool_use_id)
);
CREATE INDEX doubts_of_user ON tool_runs (user_id, created_at) WHERE status = 'in_doubt';

CREATE TABLE tickets (
    digest     TEXT PRIMARY KEY, -- of the ticket: what is stored opens nothing
    user_id    TEXT  NOT NULL,
    holder     BYTEA NOT NULL,
    path       TEXT  NOT NULL,
    expires_at TEXT  COLLATE "C" NOT NULL
);
CREATE INDEX tickets_of_user ON tickets (user_id);
CREATE INDEX tickets_that_expire ON tickets (expires_at);

-- Files that users attach. Their bytes are in a folder or an object storage, by user and hash.
CREATE TABLE files (
    id          TEXT PRIMARY KEY,
    user_id     TEXT    NOT NULL,
    session_id  TEXT    NOT NULL, -- where it was uploaded
    created_at  TEXT    COLLATE "C" NOT NULL,
    name        TEXT    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('image', 'pdf', 'document')),
    media_type  TEXT    NOT NULL,
    size        BIGINT  NOT NULL,
    sha256      TEXT    NOT NULL,
    width       INTEGER,
    height      INTEGER,
    pages       INTEGER,
    text_length BIGINT,
    model_type  TEXT    NOT NULL,
    model_size  BIGINT  NOT NULL,
    locked      INTEGER NOT NULL,
    metadata    JSON    NOT NULL,
    deleted     INTEGER NOT NULL
);
CREATE UNIQUE INDEX one_file_a_content ON files (user_id, sha256);
CREATE INDEX files_in_order ON files (user_id, created_at DESC, id DESC);

-- What auditors read of others: a log of its own, so that no session's numbers change by it.
CREATE TABLE audit_reads (
    number     BIGINT PRIMARY KEY, -- 0, 1, ... without a gap
    at         TEXT COLLATE "C" NOT NULL,
    auditor    TEXT  NOT NULL,
    session_id TEXT  NOT NULL,     -- '': the list of all sessions
    what       TEXT  NOT NULL,
    seal       BYTEA NOT NULL      -- over this row and the seal before it
);
CREATE INDEX reads_of_session ON audit_reads (session_id, number);
CREATE TRIGGER reads_never_change BEFORE UPDATE OR DELETE ON audit_reads
FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reads_never_vanish BEFORE TRUNCATE ON audit_reads
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Processes that work here. One that was not seen for some seconds is dead to the others.
CREATE TABLE nodes (
    id         TEXT PRIMARY KEY,
    address    TEXT        NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    seen_at    TIMESTAMPTZ NOT NULL
);

-- What the statements call otherwise, as SQLite does.
CREATE FUNCTION folded(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT replace(lower($1), 'ß', 'ss') $$;
CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT strpos($1, $2) $$;
