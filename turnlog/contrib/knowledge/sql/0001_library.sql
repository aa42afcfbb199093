-- Documents belong to an owner: a user ("user:alice") or a team ("team:sales").
CREATE TABLE documents (
    id         TEXT PRIMARY KEY,
    owner      TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    source     TEXT    NOT NULL, -- where it came from: "file:ID", or a name of the caller's
    sha256     TEXT    NOT NULL, -- of its text: the same document again is the same one
    state      TEXT    NOT NULL, -- waiting, ready or failed
    done       INTEGER NOT NULL, -- passages that are indexed
    passages   INTEGER NOT NULL, -- of how many
    error      TEXT,
    added_at   TEXT    NOT NULL,
    added_by   TEXT    NOT NULL,
    content    TEXT             -- its pages as JSON until it is indexed
) WITHOUT ROWID;
CREATE UNIQUE INDEX one_document_an_owner ON documents (owner, sha256, title);
CREATE INDEX waiting_documents ON documents (added_at) WHERE state = 'waiting';

CREATE TABLE passages (
    id          INTEGER PRIMARY KEY,
    document_id TEXT    NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    place       INTEGER NOT NULL, -- in the document, from 0
    heading     TEXT    NOT NULL,
    page        INTEGER,
    text        TEXT    NOT NULL,
    vector      BLOB,
    UNIQUE (document_id, place)
);

CREATE VIRTUAL TABLE words USING fts5 (
    title, heading, text, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER forget_words AFTER DELETE ON passages BEGIN
    DELETE FROM words WHERE rowid = old.id;
END;
