-- What others are told over webhooks: written with the events, kept until it is delivered and a
-- while after. It is no projection of the log: whoever has no endpoint has no rows.
CREATE TABLE outbox (
    id         TEXT    NOT NULL, -- of the event, and of the message that is sent
    endpoint   TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    created_at TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- JSON, exactly as it is signed
    due_at     TEXT    NOT NULL,
    status     TEXT    NOT NULL, -- waiting, delivered, failed
    tries      INTEGER NOT NULL,
    outcome    TEXT    NOT NULL, -- of the last try
    PRIMARY KEY (id, endpoint)
);
CREATE INDEX outbox_that_waits ON outbox (endpoint, due_at) WHERE status = 'waiting';
CREATE INDEX outbox_by_age ON outbox (created_at);
