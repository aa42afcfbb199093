-- A turn writes fewer pages: see docs/why.md, 2026-11-18.

-- The turns of a session lie together, and their ids need no tree of their own. Drafts are of open
-- turns alone, and go with the state: nobody has to ask for that. A state is checked with OR: for
-- IN with more than two values SQLite makes a table of them, each time.
CREATE TABLE turns_new (
    id         TEXT    NOT NULL,
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    user_id    TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state = 'running' OR state = 'waiting' OR state = 'done' OR state = 'failed'),
    first_seq  INTEGER NOT NULL,
    started_at TEXT    NOT NULL,
    request_id TEXT,
    owner      TEXT    NOT NULL,            -- the process that runs it, or did so last
    lease      TEXT    NOT NULL DEFAULT '', -- that every change of the turn must show
    PRIMARY KEY (session_id, id)
) WITHOUT ROWID;
INSERT INTO turns_new (id, session_id, user_id, state, first_seq, started_at, request_id, owner, lease)
SELECT id, session_id, user_id, state, first_seq, started_at, request_id, owner, lease
FROM turns ORDER BY session_id, id;

CREATE TABLE drafts_new (
    turn_id TEXT    NOT NULL,
    part    INTEGER NOT NULL, -- 0, 1, ...
    piece   BLOB    NOT NULL,
    PRIMARY KEY (turn_id, part)
);
INSERT INTO drafts_new (turn_id, part, piece) SELECT turn_id, part, piece FROM drafts;
DROP TABLE drafts;
ALTER TABLE drafts_new RENAME TO drafts;

DROP TABLE turns;
ALTER TABLE turns_new RENAME TO turns;
CREATE UNIQUE INDEX one_open_turn_a_session ON turns (session_id) WHERE state IN ('running', 'waiting');
CREATE UNIQUE INDEX one_turn_a_request ON turns (session_id, request_id) WHERE request_id IS NOT NULL;
CREATE TRIGGER drafts_end_with_the_turn AFTER UPDATE OF state ON turns WHEN NEW.state <> 'running'
BEGIN DELETE FROM drafts WHERE turn_id = NEW.id; END;

-- The log leaves out counts that are zero.
DROP VIEW messages;
CREATE VIEW messages AS
SELECT message_id, session_id, user_id, turn_id, seq, at AS created_at,
       CASE type WHEN 'user_message_sent' THEN 'user' ELSE 'assistant' END AS role,
       log.agent_id, is_internal,
       CASE type WHEN 'user_message_sent'
            THEN json_array(json_object('type', 'text', 'text', json_extract(text, '$.content')))
            ELSE json_extract(text, '$.blocks') END AS content, -- blocks in order, JSON
       json_extract(text, '$.stopReason')           AS stop_reason,
       json_extract(text, '$.model')                AS model,
       CASE WHEN used IS NOT NULL THEN coalesce(json_extract(used, '$.inputTokens'), 0) END
                                                    AS input_tokens,
       CASE WHEN used IS NOT NULL THEN coalesce(json_extract(used, '$.outputTokens'), 0) END
                                                    AS output_tokens,
       CASE WHEN used IS NOT NULL THEN coalesce(json_extract(used, '$.cacheWriteTokens'), 0) END
                                                    AS cache_write_tokens,
       CASE WHEN used IS NOT NULL THEN coalesce(json_extract(used, '$.cacheReadTokens'), 0) END
                                                    AS cache_read_tokens,
       json_extract(used, '$.thinkingTokens')       AS thinking_tokens,
       (SELECT CASE WHEN COUNT(*) = COUNT(cost_picousd) THEN SUM(cost_picousd) END FROM usage
         WHERE usage.session_id = log.session_id AND usage.seq = log.seq) AS cost_picousd
FROM (SELECT *, json_extract(text, '$.tokenUsage') AS used
      FROM (SELECT *, NULLIF(CAST(body AS TEXT), '') AS text FROM events
            WHERE message_id IS NOT NULL)) AS log -- an empty body: erased
JOIN sessions ON sessions.id = session_id;
