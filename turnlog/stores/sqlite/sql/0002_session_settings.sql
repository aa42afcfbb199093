-- What a user has set for a session.
ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN thinking_enabled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN thinking_budget INTEGER NOT NULL DEFAULT 10000;
CREATE INDEX sessions_in_order ON sessions (user_id, archived, created_at DESC, id DESC);
