-- Parts of files that rest with the model's provider until they expire.
-- needs: 4
CREATE TABLE deposits (
    account     TEXT COLLATE "C" NOT NULL, -- a fingerprint of key and address
    provider_id TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    file_id     TEXT NOT NULL, -- compared with files.id
    part        TEXT COLLATE "C" NOT NULL,
    expires_at  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account, provider_id)
);
CREATE INDEX deposits_of_file ON deposits (file_id);
CREATE INDEX deposits_by_expiry ON deposits (expires_at);
