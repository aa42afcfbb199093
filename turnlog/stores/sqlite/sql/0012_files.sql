-- Files that users attach. Their bytes are in a folder or an object storage, by user and hash.
CREATE TABLE files (
    id          TEXT PRIMARY KEY,
    user_id     TEXT    NOT NULL,
    session_id  TEXT    NOT NULL, -- where it was uploaded
    created_at  TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('image', 'pdf', 'document')),
    media_type  TEXT    NOT NULL,
    size        INTEGER NOT NULL,
    sha256      TEXT    NOT NULL,
    width       INTEGER,
    height      INTEGER,
    pages       INTEGER,
    text_length INTEGER,          -- characters
    model_type  TEXT    NOT NULL, -- of what a model is given of an image
    model_size  INTEGER NOT NULL,
    locked      INTEGER NOT NULL, -- 1: encrypted, although it opens without a password
    metadata    TEXT    NOT NULL, -- JSON
    deleted     INTEGER NOT NULL  -- 1: its bytes are being removed
);
CREATE UNIQUE INDEX one_file_a_content ON files (user_id, sha256);
CREATE INDEX files_in_order ON files (user_id, created_at DESC, id DESC);
