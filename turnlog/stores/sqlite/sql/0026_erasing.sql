-- What a session says can be destroyed, with its salts, while a row here names it. The row goes
-- in the same transaction, so nobody ever sees one.
CREATE TABLE erasing (session_id TEXT PRIMARY KEY) WITHOUT ROWID;

DROP TRIGGER events_never_change;
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
WHEN (
    (NEW.rowid, NEW.session_id, NEW.seq, NEW.turn_id, NEW.event_id, NEW.type, NEW.version, NEW.at,
     NEW.agent_id, NEW.agent_name, NEW.is_internal, NEW.digest, NEW.seal)
  = (OLD.rowid, OLD.session_id, OLD.seq, OLD.turn_id, OLD.event_id, OLD.type, OLD.version, OLD.at,
     OLD.agent_id, OLD.agent_name, OLD.is_internal, OLD.digest, OLD.seal)
    AND NEW.event_index IS OLD.event_index AND NEW.message_id IS OLD.message_id
    AND (
        (NEW.salt = OLD.salt AND length(OLD.salt) > 0
         AND (length(NEW.body) = 0) <> (length(OLD.body) = 0)
         AND EXISTS (SELECT 1 FROM archives WHERE session_id = OLD.session_id
                     AND OLD.seq BETWEEN first_seq AND last_seq))
        OR (length(NEW.body) = 0 AND length(NEW.salt) = 0
            AND EXISTS (SELECT 1 FROM erasing WHERE session_id = OLD.session_id))
    )
) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'the log is append-only: no UPDATE'); END;
