-- Which engine answers in the session.
ALTER TABLE sessions ADD COLUMN engine TEXT NOT NULL DEFAULT 'claude';
