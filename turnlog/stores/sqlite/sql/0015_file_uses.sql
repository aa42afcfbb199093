-- How often a file came with a turn, and when it last did.
ALTER TABLE files ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN last_used_at TEXT;
