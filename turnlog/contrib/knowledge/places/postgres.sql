-- As sql/, for PostgreSQL. It is safe to run again.
CREATE TABLE IF NOT EXISTS documents (
    id            TEXT PRIMARY KEY,
    owner         TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    sha256        TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    done          INTEGER NOT NULL,
    passages      INTEGER NOT NULL,
    error         TEXT,
    added_at      TEXT    COLLATE "C" NOT NULL,
    added_by      TEXT    NOT NULL,
    content       TEXT,
    claimed_by    TEXT,
    claimed_until TEXT    COLLATE "C" NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX IF NOT EXISTS one_document_an_owner ON documents (owner, sha256, title);
CREATE INDEX IF NOT EXISTS waiting_documents ON documents (added_at) WHERE state = 'waiting';

CREATE TABLE IF NOT EXISTS passages (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document_id TEXT    NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    place       INTEGER NOT NULL,
    heading     TEXT    NOT NULL,
    page        INTEGER,
    text        TEXT    NOT NULL,
    vector      BYTEA,
    length      INTEGER NOT NULL, -- words
    words       TSVECTOR NOT NULL,
    UNIQUE (document_id, place)
);
CREATE INDEX IF NOT EXISTS passages_by_words ON passages USING GIN (words);

CREATE TABLE IF NOT EXISTS shelves (
    owner   TEXT PRIMARY KEY,
    version BIGINT NOT NULL
);
