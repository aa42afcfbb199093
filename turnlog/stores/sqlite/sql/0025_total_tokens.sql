-- A message says its tokens in total, too, as its event does.
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
       CASE WHEN used IS NOT NULL THEN coalesce(json_extract(used, '$.inputTokens'), 0)
            + coalesce(json_extract(used, '$.outputTokens'), 0)
            + coalesce(json_extract(used, '$.cacheWriteTokens'), 0)
            + coalesce(json_extract(used, '$.cacheReadTokens'), 0) END AS total_tokens,
       (SELECT CASE WHEN COUNT(*) = COUNT(cost_picousd) THEN SUM(cost_picousd) END FROM usage
         WHERE usage.session_id = log.session_id AND usage.seq = log.seq) AS cost_picousd
FROM (SELECT *, json_extract(text, '$.tokenUsage') AS used
      FROM (SELECT *, NULLIF(CAST(body AS TEXT), '') AS text FROM events
            WHERE message_id IS NOT NULL)) AS log -- an empty body: erased
JOIN sessions ON sessions.id = session_id;
