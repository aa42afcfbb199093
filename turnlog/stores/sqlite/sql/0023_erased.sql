-- An event was erased where its salt is NULL or empty: no archive has its body, and none is needed
-- for it.
DROP TRIGGER events_never_change;
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
WHEN (
    (NEW.rowid, NEW.session_id, NEW.seq, NEW.turn_id, NEW.event_id, NEW.type, NEW.version, NEW.at,
     NEW.agent_id, NEW.agent_name, NEW.is_internal, NEW.salt, NEW.digest, NEW.seal)
  = (OLD.rowid, OLD.session_id, OLD.seq, OLD.turn_id, OLD.event_id, OLD.type, OLD.version, OLD.at,
     OLD.agent_id, OLD.agent_name, OLD.is_internal, OLD.salt, OLD.digest, OLD.seal)
    AND NEW.event_index IS OLD.event_index AND NEW.message_id IS OLD.message_id
    AND length(OLD.salt) > 0
    AND (length(NEW.body) = 0) <> (length(OLD.body) = 0)
    AND EXISTS (SELECT 1 FROM archives WHERE session_id = OLD.session_id
                AND OLD.seq BETWEEN first_seq AND last_seq)
) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'the log is append-only: no UPDATE'); END;

DROP TRIGGER archives_never_vanish;
CREATE TRIGGER archives_never_vanish BEFORE DELETE ON archives
WHEN EXISTS (SELECT 1 FROM events WHERE session_id = OLD.session_id
             AND seq BETWEEN OLD.first_seq AND OLD.last_seq
             AND length(body) = 0 AND digest IS NOT NULL AND length(salt) > 0)
BEGIN SELECT RAISE(ABORT, 'the log needs this archive'); END;
