-- One row for each part of a model call, with what it cost. What was there before is folded
-- again from the log (sqlite_billing.py); what was kept before there were prices has no cost.
-- Costs are whole picodollars (10^-12 USD), so that SUM is exact; NULL is unknown, not zero.
DROP TABLE usage;

CREATE TABLE usage (
    message_id            TEXT    NOT NULL,
    part                  INTEGER NOT NULL, -- 0, 1, ...: usage.iterations, where there are any
    session_id            TEXT    NOT NULL,
    user_id               TEXT    NOT NULL,
    turn_id               TEXT    NOT NULL,
    seq                   INTEGER NOT NULL,
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
    cost_picousd          INTEGER,
    reported              TEXT    NOT NULL, -- the usage object as the API sent it, JSON
    PRIMARY KEY (message_id, part)
);
CREATE INDEX usage_of_session ON usage (session_id);
CREATE INDEX usage_of_user ON usage (user_id, created_at);

-- The sums of an answer also beside it; a question has none.
ALTER TABLE messages ADD COLUMN input_tokens INTEGER;
ALTER TABLE messages ADD COLUMN output_tokens INTEGER;
ALTER TABLE messages ADD COLUMN cache_write_tokens INTEGER;
ALTER TABLE messages ADD COLUMN cache_read_tokens INTEGER;
ALTER TABLE messages ADD COLUMN thinking_tokens INTEGER;
ALTER TABLE messages ADD COLUMN cost_picousd INTEGER;

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
