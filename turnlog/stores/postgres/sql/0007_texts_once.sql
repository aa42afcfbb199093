-- needs: 6
-- Every text is in the database once: in the log. `messages` was a table with the texts of the
-- log written again; now it is a view. Nodes that are older write to the view, and what they
-- write again is left out.
CREATE TABLE message_ids (
    message_id TEXT PRIMARY KEY, -- an answer's is the model's own
    session_id TEXT   NOT NULL,
    seq        BIGINT NOT NULL
);
INSERT INTO message_ids (message_id, session_id, seq) SELECT message_id, session_id, seq FROM messages;
CREATE INDEX messages_in_order ON message_ids (session_id, seq);
DROP TABLE messages;

-- What is read of the body is read when asked for.
CREATE VIEW messages AS
SELECT message_id, message_ids.session_id, user_id, turn_id, message_ids.seq, at AS created_at,
       CASE type WHEN 'user_message_sent' THEN 'user' ELSE 'assistant' END AS role,
       CASE type WHEN 'user_message_sent'
            THEN json_build_array(json_build_object('type', 'text', 'text', text -> 'content'))
            ELSE text -> 'blocks' END                              AS content, -- blocks in order
       text ->> 'stopReason'                                       AS stop_reason,
       text ->> 'model'                                            AS model,
       log.agent_id, is_internal,
       (text -> 'tokenUsage' ->> 'inputTokens')::bigint            AS input_tokens,
       (text -> 'tokenUsage' ->> 'outputTokens')::bigint           AS output_tokens,
       (text -> 'tokenUsage' ->> 'cacheWriteTokens')::bigint       AS cache_write_tokens,
       (text -> 'tokenUsage' ->> 'cacheReadTokens')::bigint        AS cache_read_tokens,
       (text -> 'tokenUsage' ->> 'thinkingTokens')::bigint         AS thinking_tokens,
       (SELECT CASE WHEN count(*) = count(cost_picousd) THEN sum(cost_picousd)::bigint END
          FROM usage WHERE usage.message_id = message_ids.message_id) AS cost_picousd
FROM message_ids
LEFT JOIN (SELECT *, nullif(convert_from(body, 'UTF8'), '')::json AS text FROM events) AS log -- '': erased
  ON log.session_id = message_ids.session_id AND log.seq = message_ids.seq
LEFT JOIN sessions ON sessions.id = message_ids.session_id;

CREATE FUNCTION keep_message_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO message_ids VALUES (NEW.message_id, NEW.session_id, NEW.seq);
    RETURN NEW;
END $$;
CREATE TRIGGER messages_of_older_nodes INSTEAD OF INSERT ON messages
FOR EACH ROW EXECUTE FUNCTION keep_message_id();

-- The usage object, as the API sent it, is in the log too.
ALTER TABLE usage ALTER COLUMN reported DROP NOT NULL;
