-- needs: 9
-- A change of a turn in one statement: see stores/postgres/changes.py. Many of them share a
-- transaction, so nothing here waits for a lock and nothing raises, where that can be foreseen: a
-- change that is refused leaves no trace, and the others of its transaction stay. What cannot be
-- foreseen waits for a lock until the `lock_timeout` of a writer: an id of a message that another
-- transaction has just written, a row that somebody has locked by hand.
-- A later version that calls a function with other arguments gives it another name.

CREATE FUNCTION may_begin(
    session TEXT, begun turns, most_running BIGINT, most_begun BIGINT, since TEXT, until TEXT
) RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    running BIGINT;
    lately BIGINT;
BEGIN
    IF NOT EXISTS (SELECT FROM sessions WHERE id = session AND user_id = begun.user_id)
       OR EXISTS (SELECT FROM line WHERE session_id = session)
       OR EXISTS (SELECT FROM turns WHERE session_id = session AND state IN ('running', 'waiting'))
       OR EXISTS (SELECT FROM turns WHERE session_id = session AND request_id = begun.request_id)
       OR EXISTS (SELECT FROM turns WHERE id = begun.id)
    THEN
        RETURN FALSE;
    END IF;
    SELECT count(*) FILTER (WHERE state = 'running'),
           count(*) FILTER (WHERE started_at > since AND started_at < until)
    INTO running, lately FROM turns
    WHERE user_id = begun.user_id
      AND (state = 'running' OR (started_at > since AND started_at < until));
    RETURN running < coalesce(most_running, running + 1)
       AND (lately < coalesce(most_begun, lately + 1)
            OR NOT (begun.started_at > since AND begun.started_at < until));
END $$;

-- The outcome is 'written', 'moved' where the log ends elsewhere than its numbers and seals were
-- made for, or 'refused' for whatever other reason. `again`: the answer to this very change was
-- lost. Then it waits for its locks, and is not carried out a second time.
CREATE FUNCTION write_turn(
    again BOOLEAN, session TEXT, turn TEXT, shown TEXT, -- its lease; '': none is needed
    begins JSON, most_running BIGINT, most_begun BIGINT, since TEXT, until TEXT,
    end_seq BIGINT, end_seal BYTEA, -- where the log ends; -1 and '': it is empty
    event_ids TEXT[], types TEXT[], versions INTEGER[], times TEXT[], agent_ids TEXT[],
    agent_names TEXT[], indexes BIGINT[], internals INTEGER[], bodies BYTEA[], salts BYTEA[],
    digests BYTEA[], seals BYTEA[],
    new_messages TEXT[], message_seqs BIGINT[],
    new_usage JSON, new_citations JSON, new_approvals JSON, new_runs JSON, new_notices JSON,
    results JSON, more_searches BIGINT, new_anchor BIGINT, new_title TEXT, new_state TEXT,
    new_draft BYTEA,
    OUT outcome TEXT, OUT last_seq BIGINT, OUT last_seal BYTEA
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    added CONSTANT INTEGER := cardinality(event_ids);
    lock CONSTANT BIGINT := hashtextextended(session, 0);
    begun CONSTANT turns := json_populate_record(NULL::turns, begins);
    users_lock CONSTANT BIGINT := hashtextextended('turns of ' || begun.user_id, 0);
    held turns;
    is_there BOOLEAN;
BEGIN
    outcome := 'refused';
    IF again THEN
        PERFORM pg_advisory_xact_lock(users_lock) WHERE begins IS NOT NULL;
        PERFORM pg_advisory_xact_lock(lock);
    ELSIF begins IS NOT NULL AND NOT pg_try_advisory_xact_lock(users_lock)
          OR NOT pg_try_advisory_xact_lock(lock)
    THEN
        RETURN;
    END IF;

    -- From here on each statement sees what others have committed.
    SELECT * INTO held FROM turns WHERE id = turn;
    IF added > 0 THEN
        SELECT seq, seal INTO last_seq, last_seal
        FROM events WHERE session_id = session ORDER BY seq DESC LIMIT 1;
    END IF;
    IF again THEN
        is_there := CASE
            WHEN added > 0 THEN EXISTS (
                SELECT FROM events
                WHERE session_id = session AND seq = end_seq + added AND seal = seals[added])
            WHEN new_state IS NOT NULL THEN held.state = new_state AND held.lease = shown
            WHEN new_runs IS NOT NULL THEN held.lease = shown AND EXISTS (
                SELECT FROM json_populate_recordset(NULL::tool_runs, new_runs) AS run
                JOIN tool_runs USING (session_id, tool_use_id, turn_id, created_at))
        END;
        IF is_there THEN
            outcome := 'written';
            RETURN;
        END IF;
    END IF;

    IF begins IS NOT NULL THEN
        IF NOT may_begin(session, begun, most_running, most_begun, since, until) THEN
            RETURN;
        END IF;
    ELSIF shown <> '' AND (held.lease, held.state) IS DISTINCT FROM (shown, 'running') THEN
        RETURN;
    END IF;
    IF added > 0 THEN
        IF coalesce(last_seq, -1) <> end_seq OR coalesce(last_seal, '') <> end_seal THEN
            outcome := 'moved';
            RETURN;
        END IF;
        IF EXISTS (SELECT FROM message_ids WHERE message_id = ANY (new_messages)) THEN
            RETURN;
        END IF;
    END IF;
    IF NOT again THEN
        IF more_searches IS NOT NULL OR new_anchor IS NOT NULL OR new_title IS NOT NULL THEN
            PERFORM FROM sessions WHERE id = session FOR NO KEY UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                RETURN;
            END IF;
        END IF;
        IF new_state IS NOT NULL THEN
            PERFORM FROM turns WHERE id = turn FOR NO KEY UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                RETURN;
            END IF;
        END IF;
    END IF;

    IF added > 0 THEN
        INSERT INTO events (
            session_id, seq, turn_id, event_id, type, version, at, agent_id, agent_name,
            event_index, is_internal, body, salt, digest, seal
        ) SELECT session, end_seq + place, turn, event_id, type, version, at, agent_id, agent_name,
                 event_index, is_internal, body, salt, digest, seal
        FROM unnest(event_ids, types, versions, times, agent_ids, agent_names, indexes, internals,
                    bodies, salts, digests, seals) WITH ORDINALITY
          AS each (event_id, type, version, at, agent_id, agent_name, event_index, is_internal,
                  body, salt, digest, seal, place);
        INSERT INTO message_ids (message_id, session_id, seq)
        SELECT message_id, session, seq FROM unnest(new_messages, message_seqs) AS each (message_id, seq);
    END IF;

    IF begins IS NOT NULL THEN
        INSERT INTO turns (id, session_id, user_id, state, first_seq, started_at, request_id, owner,
                           lease)
        VALUES (begun.id, begun.session_id, begun.user_id, begun.state, begun.first_seq, begun.started_at,
                begun.request_id, begun.owner, begun.lease);
    END IF;
    IF new_usage IS NOT NULL THEN
        INSERT INTO usage (
            message_id, part, session_id, user_id, turn_id, seq, created_at, agent_id, tools, kind,
            model, input_tokens, output_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
            cache_read_tokens, thinking_tokens, web_searches, service_tier, geo, speed, partial,
            cost_picousd
        ) SELECT message_id, part, session_id, user_id, turn_id, seq, created_at, agent_id, tools,
                 kind, model, input_tokens, output_tokens, cache_write_5m_tokens,
                 cache_write_1h_tokens, cache_read_tokens, thinking_tokens, web_searches,
                 service_tier, geo, speed, partial, cost_picousd
        FROM json_populate_recordset(NULL::usage, new_usage);
    END IF;
    IF new_citations IS NOT NULL THEN
        INSERT INTO message_citations (
            message_id, position, session_id, user_id, turn_id, seq, created_at, block_index, kind,
            cited_text, location
        ) SELECT message_id, position, session_id, user_id, turn_id, seq, created_at, block_index,
                 kind, cited_text, location
        FROM json_populate_recordset(NULL::message_citations, new_citations);
    END IF;
    IF new_approvals IS NOT NULL THEN
        INSERT INTO approvals (
            approval_id, session_id, user_id, turn_id, seq, created_at, tool_use_id, tool_name,
            args, args_hash, description, expires_at, status, decided_by, decided_at, reason,
            may_decide, cost_picousd
        ) SELECT approval_id, session_id, user_id, turn_id, seq, created_at, tool_use_id, tool_name,
                 args, args_hash, description, expires_at, status, decided_by, decided_at, reason,
                 may_decide, cost_picousd
        FROM json_populate_recordset(NULL::approvals, new_approvals);
    END IF;
    IF new_runs IS NOT NULL THEN
        INSERT INTO tool_runs (
            tool_use_id, session_id, user_id, turn_id, created_at, tool_name, args, args_hash,
            idempotency_key, status, decided_by, decided_at, note
        ) SELECT tool_use_id, session_id, user_id, turn_id, created_at, tool_name, args, args_hash,
                 idempotency_key, status, decided_by, decided_at, note
        FROM json_populate_recordset(NULL::tool_runs, new_runs);
    END IF;
    IF new_notices IS NOT NULL THEN
        INSERT INTO outbox (
            id, endpoint, type, user_id, session_id, created_at, body, due_at, status, tries, outcome
        ) SELECT each.id, each.endpoint, each.type, each.user_id, each.session_id, each.created_at,
                 each.body, each.due_at, each.status, each.tries, each.outcome
        FROM json_populate_recordset(NULL::outbox, new_notices) AS each;
    END IF;

    IF results IS NOT NULL THEN
        UPDATE tool_runs SET status = result.status
        FROM json_to_recordset(results) AS result (tool_use_id TEXT, status TEXT)
        WHERE tool_runs.session_id = session AND tool_runs.tool_use_id = result.tool_use_id;
    END IF;
    IF more_searches IS NOT NULL OR new_anchor IS NOT NULL THEN
        UPDATE sessions SET searches = searches + coalesce(more_searches, 0),
                            anchor = coalesce(new_anchor, anchor)
        WHERE id = session;
    END IF;
    IF new_title IS NOT NULL THEN
        UPDATE sessions SET title = new_title WHERE id = session AND title = '';
    END IF;
    IF new_state IS NOT NULL THEN
        UPDATE turns SET state = new_state WHERE id = turn;
        DELETE FROM drafts WHERE turn_id = turn;
    END IF;
    IF new_draft IS NOT NULL THEN
        -- One that is sent again, and carried out late, is not written twice.
        INSERT INTO drafts (turn_id, part, piece)
        SELECT turn, newest + 1, new_draft
        FROM (SELECT coalesce(max(part), -1) FROM drafts WHERE turn_id = turn) AS known (newest)
        WHERE NOT EXISTS (
            SELECT FROM drafts WHERE turn_id = turn AND part > newest - 8 AND piece = new_draft);
    END IF;
    outcome := 'written';
END $$;
