ALTER TABLE files DROP COLUMN last_used_at;
ALTER TABLE files DROP COLUMN uses;
