-- needs: 7
-- What a change of a turn begins with, in one round trip: the lock of its session, whether the lease
-- holds, and where the log ends. A function that is VOLATILE sees in each statement what others
-- have committed until then; one statement would look before it has the lock.
CREATE FUNCTION hold_session(
    session TEXT, turn TEXT, shown TEXT,
    OUT transaction TEXT, OUT holds BOOLEAN, OUT last_seq BIGINT, OUT last_seal BYTEA
) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(session, 0));
    transaction := pg_current_xact_id()::text;
    holds := EXISTS (
        SELECT FROM turns WHERE id = turn AND state = 'running' AND lease = shown AND lease <> ''
    );
    SELECT seq, seal INTO last_seq, last_seal
    FROM events WHERE session_id = session ORDER BY seq DESC LIMIT 1;
END $$;
