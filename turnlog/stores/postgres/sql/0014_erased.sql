-- needs: 9
-- An event was erased where its salt is NULL or empty: no archive has its body, and none is needed
-- for it.
CREATE OR REPLACE FUNCTION refuse_change_of_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
       AND (octet_length(NEW.body) = 0) <> (octet_length(OLD.body) = 0)
       AND octet_length(OLD.salt) > 0 AND OLD.digest IS NOT NULL
       AND (NEW.session_id, NEW.seq, NEW.turn_id, NEW.event_id, NEW.type, NEW.version, NEW.at,
            NEW.agent_id, NEW.agent_name, NEW.event_index, NEW.is_internal, NEW.salt, NEW.digest,
            NEW.seal)
           IS NOT DISTINCT FROM
           (OLD.session_id, OLD.seq, OLD.turn_id, OLD.event_id, OLD.type, OLD.version, OLD.at,
            OLD.agent_id, OLD.agent_name, OLD.event_index, OLD.is_internal, OLD.salt, OLD.digest,
            OLD.seal)
       AND EXISTS (SELECT FROM archives WHERE session_id = OLD.session_id
                   AND OLD.seq BETWEEN first_seq AND last_seq)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the log is append-only: no %', TG_OP;
END $$;

CREATE OR REPLACE FUNCTION refuse_change_of_archive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF EXISTS (SELECT FROM archives WHERE session_id = NEW.session_id
                   AND NEW.first_seq <= last_seq AND NEW.last_seq >= first_seq) THEN
            RAISE EXCEPTION 'these numbers have an archive';
        END IF;
        -- Programs that do not know archives cannot read this log any more.
        UPDATE schema_changes SET needs = 8 WHERE number = 8 AND needs < 8;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' AND NOT EXISTS (
        SELECT FROM events WHERE session_id = OLD.session_id
        AND seq BETWEEN OLD.first_seq AND OLD.last_seq
        AND octet_length(body) = 0 AND digest IS NOT NULL AND octet_length(salt) > 0
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the log needs this archive: no %', TG_OP;
END $$;
