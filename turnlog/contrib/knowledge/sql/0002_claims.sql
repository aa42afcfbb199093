-- Who indexes a document, and until when nobody else does.
ALTER TABLE documents ADD COLUMN claimed_by TEXT;
ALTER TABLE documents ADD COLUMN claimed_until TEXT NOT NULL DEFAULT '';

-- How often what an owner's documents say has changed, for those who remember vectors.
CREATE TABLE shelves (
    owner   TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;
