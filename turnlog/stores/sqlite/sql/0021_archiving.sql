-- Files of archives that are being made or removed, noted before that begins: what a process leaves
-- that dies meanwhile, a later one removes.
CREATE TABLE archiving (
    place      TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id),
    owner      TEXT NOT NULL, -- the process that makes it; '': nobody needs the file
    noted_at   TEXT NOT NULL
) WITHOUT ROWID;
