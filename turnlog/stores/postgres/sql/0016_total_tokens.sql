-- needs: 9
-- A message says its tokens in total, too, as its event does.
CREATE OR REPLACE VIEW messages AS
SELECT message_id, message_ids.session_id, user_id, turn_id, message_ids.seq, at AS created_at,
       CASE type WHEN 'user_message_sent' THEN 'user' ELSE 'assistant' END AS role,
       CASE type WHEN 'user_message_sent'
            THEN json_build_array(json_build_object('type', 'text', 'text', text -> 'content'))
            ELSE text -> 'blocks' END                              AS content, -- blocks in order
       text ->> 'stopReason'                                       AS stop_reason,
       text ->> 'model'                                            AS model,
       log.agent_id, is_internal,
       CASE WHEN text -> 'tokenUsage' IS NOT NULL
            THEN coalesce((text -> 'tokenUsage' ->> 'inputTokens')::bigint, 0) END AS input_tokens,
       CASE WHEN text -> 'tokenUsage' IS NOT NULL
            THEN coalesce((text -> 'tokenUsage' ->> 'outputTokens')::bigint, 0) END AS output_tokens,
       CASE WHEN text -> 'tokenUsage' IS NOT NULL
            THEN coalesce((text -> 'tokenUsage' ->> 'cacheWriteTokens')::bigint, 0) END AS cache_write_tokens,
       CASE WHEN text -> 'tokenUsage' IS NOT NULL
            THEN coalesce((text -> 'tokenUsage' ->> 'cacheReadTokens')::bigint, 0) END AS cache_read_tokens,
       (text -> 'tokenUsage' ->> 'thinkingTokens')::bigint         AS thinking_tokens,
       (SELECT CASE WHEN count(*) = count(cost_picousd) THEN sum(cost_picousd)::bigint END
          FROM usage WHERE usage.message_id = message_ids.message_id) AS cost_picousd,
       CASE WHEN text -> 'tokenUsage' IS NOT NULL
            THEN coalesce((text -> 'tokenUsage' ->> 'inputTokens')::bigint, 0)
               + coalesce((text -> 'tokenUsage' ->> 'outputTokens')::bigint, 0)
               + coalesce((text -> 'tokenUsage' ->> 'cacheWriteTokens')::bigint, 0)
               + coalesce((text -> 'tokenUsage' ->> 'cacheReadTokens')::bigint, 0) END AS total_tokens
FROM message_ids
LEFT JOIN (SELECT *, nullif(convert_from(body, 'UTF8'), '')::json AS text FROM events) AS log -- '': erased
  ON log.session_id = message_ids.session_id AND log.seq = message_ids.seq
LEFT JOIN sessions ON sessions.id = message_ids.session_id;
