-- Every text is in the database once: in the log. `messages` was a table with the texts of the
-- log written again, and is a view now; `usage` had the usage object, which the log has too.
-- Fewer trees are touched by a turn: see docs/why.md, 2026-11-17.

-- A row of the log is large. In a table WITHOUT ROWID, as it was, large rows waste half of each
-- page. The body comes last, so that what is before it is read without it.
CREATE TABLE log (
    session_id  TEXT    NOT NULL REFERENCES sessions (id),
    seq         INTEGER NOT NULL,
    turn_id     TEXT    NOT NULL,
    event_id    TEXT    NOT NULL,
    type        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    at          TEXT    NOT NULL,
    agent_id    TEXT    NOT NULL,
    agent_name  TEXT    NOT NULL,
    event_index INTEGER,
    is_internal INTEGER NOT NULL,
    message_id  TEXT,             -- of a question, or of an answer: the model's own
    salt        BLOB,             -- of the digest; destroyed with the body
    digest      BLOB,             -- of salt and body; an empty body: erased
    seal        BLOB    NOT NULL,
    body        BLOB    NOT NULL,
    PRIMARY KEY (session_id, seq)
);
INSERT INTO log (session_id, seq, turn_id, event_id, type, version, at, agent_id, agent_name,
                 event_index, is_internal, message_id, salt, digest, seal, body)
SELECT events.session_id, events.seq, events.turn_id, event_id, type, version, at, events.agent_id,
       agent_name, event_index, events.is_internal, messages.message_id, salt, digest, seal, body
FROM events LEFT JOIN messages
  ON messages.session_id = events.session_id AND messages.seq = events.seq
ORDER BY events.session_id, events.seq;

DROP VIEW vw_session_costs;
DROP TABLE messages;
DROP TABLE events;
ALTER TABLE log RENAME TO events;
CREATE UNIQUE INDEX one_message_an_id ON events (message_id) WHERE message_id IS NOT NULL;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the log is append-only: no UPDATE'); END;

CREATE TRIGGER events_never_vanish BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'the log is append-only: no DELETE'); END;

-- Also refuses INSERT OR REPLACE, which would not fire the DELETE trigger.
CREATE TRIGGER events_have_no_gap BEFORE INSERT ON events
WHEN NEW.seq <> COALESCE((SELECT MAX(seq) + 1 FROM events WHERE session_id = NEW.session_id), 0)
BEGIN SELECT RAISE(ABORT, 'the log is gap-free: not the next number'); END;

-- The same for a message that is there already, whoever has it.
CREATE TRIGGER messages_are_not_replaced BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE message_id = NEW.message_id)
BEGIN SELECT RAISE(ABORT, 'the message id is taken'); END;

CREATE TABLE charges (
    session_id            TEXT    NOT NULL,
    seq                   INTEGER NOT NULL,
    part                  INTEGER NOT NULL, -- 0, 1, ...: usage.iterations, where there are any
    message_id            TEXT    NOT NULL,
    user_id               TEXT    NOT NULL,
    turn_id               TEXT    NOT NULL,
    created_at            TEXT    NOT NULL,
    agent_id              TEXT    NOT NULL,
    tools                 TEXT    NOT NULL, -- that the call asked for
    kind                  TEXT    NOT NULL, -- message, compaction, advisor_message, ...
    model                 TEXT    NOT NULL,
    input_tokens          INTEGER NOT NULL,
    output_tokens         INTEGER NOT NULL,
    cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL,
    cache_read_tokens     INTEGER NOT NULL,
    thinking_tokens       INTEGER,
    web_searches          INTEGER NOT NULL,
    service_tier          TEXT    NOT NULL,
    geo                   TEXT    NOT NULL,
    speed                 TEXT    NOT NULL,
    partial               INTEGER NOT NULL, -- 1: cut off, counted by what was reported until then
    cost_picousd          INTEGER,          -- NULL is unknown, not zero
    PRIMARY KEY (session_id, seq, part)
) WITHOUT ROWID;
INSERT INTO charges
SELECT session_id, seq, part, message_id, user_id, turn_id, created_at, agent_id, tools, kind, model,
       input_tokens, output_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cache_read_tokens,
       thinking_tokens, web_searches, service_tier, geo, speed, partial, cost_picousd
FROM usage;
DROP TABLE usage;
ALTER TABLE charges RENAME TO usage;
CREATE INDEX usage_of_user ON usage (user_id, created_at);

-- Questions and answers, as the log has them. What is read of the body is read when asked for.
CREATE VIEW messages AS
SELECT message_id, session_id, user_id, turn_id, seq, at AS created_at,
       CASE type WHEN 'user_message_sent' THEN 'user' ELSE 'assistant' END AS role,
       log.agent_id, is_internal,
       CASE type WHEN 'user_message_sent'
            THEN json_array(json_object('type', 'text', 'text', json_extract(text, '$.content')))
            ELSE json_extract(text, '$.blocks') END               AS content, -- blocks in order, JSON
       json_extract(text, '$.stopReason')                         AS stop_reason,
       json_extract(text, '$.model')                              AS model,
       json_extract(text, '$.tokenUsage.inputTokens')             AS input_tokens,
       json_extract(text, '$.tokenUsage.outputTokens')            AS output_tokens,
       json_extract(text, '$.tokenUsage.cacheWriteTokens')        AS cache_write_tokens,
       json_extract(text, '$.tokenUsage.cacheReadTokens')         AS cache_read_tokens,
       json_extract(text, '$.tokenUsage.thinkingTokens')          AS thinking_tokens,
       (SELECT CASE WHEN COUNT(*) = COUNT(cost_picousd) THEN SUM(cost_picousd) END FROM usage
         WHERE usage.session_id = log.session_id AND usage.seq = log.seq) AS cost_picousd
FROM (SELECT *, NULLIF(CAST(body AS TEXT), '') AS text FROM events
       WHERE message_id IS NOT NULL) AS log -- an empty body: erased
JOIN sessions ON sessions.id = session_id;

-- What few turns have is indexed for those few.
DROP INDEX running_turns; -- one_open_turn_a_session has them
DROP INDEX one_turn_a_request;
CREATE UNIQUE INDEX one_turn_a_request ON turns (session_id, request_id) WHERE request_id IS NOT NULL;

-- A session with one unknown cost has no known cost as a whole: NULL.
CREATE VIEW vw_session_costs AS
WITH sums AS (
    SELECT
        session_id,
        SUM(input_tokens)                                  AS input_tokens,
        SUM(output_tokens)                                 AS output_tokens,
        SUM(cache_write_5m_tokens + cache_write_1h_tokens) AS cache_write_tokens,
        SUM(cache_read_tokens)                             AS cache_read_tokens,
        SUM(web_searches)                                  AS web_searches,
        CASE WHEN COUNT(*) = COUNT(cost_picousd) THEN SUM(cost_picousd) END AS picousd
    FROM usage
    GROUP BY session_id
)
SELECT
    sessions.id AS session_id,
    sessions.user_id,
    sessions.created_at AS session_start,
    (SELECT COUNT(*) FROM messages
      WHERE messages.session_id = sessions.id AND NOT is_internal) AS message_count,
    COALESCE(sums.input_tokens, 0)       AS total_input_tokens,
    COALESCE(sums.output_tokens, 0)      AS total_output_tokens,
    COALESCE(sums.cache_write_tokens, 0) AS total_cache_write_tokens,
    COALESCE(sums.cache_read_tokens, 0)  AS total_cache_read_tokens,
    COALESCE(sums.input_tokens + sums.output_tokens + sums.cache_write_tokens
             + sums.cache_read_tokens, 0) AS total_tokens,
    COALESCE(sums.web_searches, 0)       AS web_searches,
    CASE WHEN sums.session_id IS NULL THEN '0.000000000000'
         WHEN sums.picousd IS NOT NULL
         THEN printf('%d.%012d', sums.picousd / 1000000000000, sums.picousd % 1000000000000)
    END AS estimated_cost_usd -- text, to the last digit
FROM sessions LEFT JOIN sums ON sums.session_id = sessions.id;
