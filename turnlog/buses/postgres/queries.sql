-- The SQL of live events between nodes in PostgreSQL. Each statement has a name and a description.

-- make_live --
-- Nothing here must last: a crash empties it, and the log has what was kept.
SELECT pg_advisory_lock(7236833179425694305);
CREATE UNLOGGED TABLE IF NOT EXISTS live (
    id         BIGSERIAL PRIMARY KEY,
    session_id TEXT        NOT NULL,
    added_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    body       BYTEA       NOT NULL
);
CREATE INDEX IF NOT EXISTS live_of_session ON live (session_id, id);
CREATE INDEX IF NOT EXISTS live_by_age ON live (added_at);
DELETE FROM live WHERE added_at < now() - interval '1 hour';
SELECT pg_advisory_unlock(7236833179425694305)

-- lock_live --
-- One node at a time adds, so that rows become visible in the order of their numbers.
SELECT pg_advisory_xact_lock(7236833179425694305)

-- add_live --
-- Batches of several sessions, in this order.
INSERT INTO live (session_id, body)
SELECT session_id, body
FROM unnest(cast(:sessions AS text[]), cast(:bodies AS bytea[])) WITH ORDINALITY AS u (session_id, body, place)
ORDER BY place

-- trim_live --
-- A turn begins: what lies before it is not needed any more, once every node has read it.
DELETE FROM live WHERE session_id = :session_id AND added_at < now() - interval '10 seconds'

-- read_live --
-- What came after a place.
SELECT id, body FROM live WHERE session_id = :session_id AND id > :after ORDER BY id

-- tell --
-- Tell every node that listens, in this order.
SELECT pg_notify(:channel, body) FROM unnest(cast(:bodies AS text[])) AS body

-- ask --
-- Whether anybody is there.
SELECT 1
