-- needs: 9
-- What a session says can be destroyed, with its salts, while a row here names it. The row goes
-- in the same transaction, so nobody ever sees one.
CREATE TABLE erasing (session_id TEXT PRIMARY KEY);

CREATE OR REPLACE FUNCTION refuse_change_of_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.digest IS NOT NULL
       AND (NEW.session_id, NEW.seq, NEW.turn_id, NEW.event_id, NEW.type, NEW.version, NEW.at,
            NEW.agent_id, NEW.agent_name, NEW.event_index, NEW.is_internal, NEW.digest, NEW.seal)
           IS NOT DISTINCT FROM
           (OLD.session_id, OLD.seq, OLD.turn_id, OLD.event_id, OLD.type, OLD.version, OLD.at,
            OLD.agent_id, OLD.agent_name, OLD.event_index, OLD.is_internal, OLD.digest, OLD.seal)
       AND (
           (NEW.salt = OLD.salt AND octet_length(OLD.salt) > 0
            AND (octet_length(NEW.body) = 0) <> (octet_length(OLD.body) = 0)
            AND EXISTS (SELECT FROM archives WHERE session_id = OLD.session_id
                        AND OLD.seq BETWEEN first_seq AND last_seq))
           OR (octet_length(NEW.body) = 0 AND octet_length(NEW.salt) = 0
               AND EXISTS (SELECT FROM erasing WHERE session_id = OLD.session_id))
       )
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the log is append-only: no %', TG_OP;
END $$;
