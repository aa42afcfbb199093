-- Tickets that nobody has used yet: each opens one path, once, within a minute.
CREATE TABLE tickets (
    digest     TEXT PRIMARY KEY, -- of the ticket: what is stored opens nothing
    user_id    TEXT NOT NULL,
    holder     BLOB NOT NULL,    -- who asked for it, JSON
    path       TEXT NOT NULL,
    expires_at TEXT NOT NULL
);
CREATE INDEX tickets_of_user ON tickets (user_id);
CREATE INDEX tickets_that_expire ON tickets (expires_at);
