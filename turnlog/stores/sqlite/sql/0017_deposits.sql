-- Parts of files that rest with the model's provider until they expire.
CREATE TABLE deposits (
    account     TEXT NOT NULL, -- a fingerprint of key and address
    provider_id TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    file_id     TEXT NOT NULL,
    part        TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    PRIMARY KEY (account, provider_id)
) WITHOUT ROWID;
CREATE INDEX deposits_of_file ON deposits (file_id);
CREATE INDEX deposits_by_expiry ON deposits (expires_at);
