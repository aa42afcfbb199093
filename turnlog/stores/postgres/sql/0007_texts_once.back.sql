-- An erased event has no body, and one whose usage object is empty does not say so.
UPDATE usage SET reported = nullif(convert_from(body, 'UTF8'), '')::json -> 'reported'
FROM events WHERE events.session_id = usage.session_id AND events.seq = usage.seq AND reported IS NULL;
UPDATE usage SET reported = '{}' WHERE reported IS NULL;
ALTER TABLE usage ALTER COLUMN reported SET NOT NULL;
CREATE TABLE messages_before (
    message_id         TEXT PRIMARY KEY, -- an answer's is the model's own
    session_id         TEXT    NOT NULL,
    user_id            TEXT    NOT NULL,
    turn_id            TEXT    NOT NULL,
    seq                BIGINT  NOT NULL,
    created_at         TEXT    NOT NULL,
    role               TEXT    NOT NULL,
    content            JSON    NOT NULL,
    stop_reason        TEXT,
    model              TEXT,
    agent_id           TEXT    NOT NULL,
    is_internal        INTEGER NOT NULL,
    input_tokens       BIGINT,
    output_tokens      BIGINT,
    cache_write_tokens BIGINT,
    cache_read_tokens  BIGINT,
    thinking_tokens    BIGINT,
    cost_picousd       BIGINT
);
INSERT INTO messages_before
SELECT message_id, session_id, user_id, turn_id, seq, created_at, role, coalesce(content, '[]'),
       stop_reason, model, agent_id, is_internal, input_tokens, output_tokens, cache_write_tokens,
       cache_read_tokens, thinking_tokens, cost_picousd
FROM messages;
DROP VIEW messages;
DROP FUNCTION keep_message_id;
DROP TABLE message_ids;
ALTER TABLE messages_before RENAME TO messages;
CREATE INDEX messages_of_session ON messages (session_id, seq);
