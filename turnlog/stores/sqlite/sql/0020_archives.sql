-- Contents of the log may rest in compressed files: see stores/sql/archives.py. A row of the log
-- stays where it is, with its number, its digest and its seal. Only its body goes, and comes back.
CREATE TABLE archives (
    session_id TEXT    NOT NULL REFERENCES sessions (id),
    first_seq  INTEGER NOT NULL, -- the numbers whose bodies it has
    last_seq   INTEGER NOT NULL,
    place      TEXT    NOT NULL, -- of the file, by its hash
    size       INTEGER NOT NULL, -- bytes of the file
    unpacked   INTEGER NOT NULL, -- bytes of what is in it
    made_at    TEXT    NOT NULL,
    PRIMARY KEY (session_id, first_seq)
) WITHOUT ROWID;

DROP TRIGGER events_never_change;
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
WHEN (
    (NEW.rowid, NEW.session_id, NEW.seq, NEW.turn_id, NEW.event_id, NEW.type, NEW.version, NEW.at,
     NEW.agent_id, NEW.agent_name, NEW.is_internal, NEW.salt, NEW.digest, NEW.seal)
  = (OLD.rowid, OLD.session_id, OLD.seq, OLD.turn_id, OLD.event_id, OLD.type, OLD.version, OLD.at,
     OLD.agent_id, OLD.agent_name, OLD.is_internal, OLD.salt, OLD.digest, OLD.seal)
    AND NEW.event_index IS OLD.event_index AND NEW.message_id IS OLD.message_id
    AND (length(NEW.body) = 0) <> (length(OLD.body) = 0)
    AND EXISTS (SELECT 1 FROM archives WHERE session_id = OLD.session_id
                AND OLD.seq BETWEEN first_seq AND last_seq)
) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'the log is append-only: no UPDATE'); END;

CREATE TRIGGER archives_never_change BEFORE UPDATE ON archives
BEGIN SELECT RAISE(ABORT, 'an archive is made once: no UPDATE'); END;

-- INSERT OR REPLACE would not fire the DELETE trigger.
CREATE TRIGGER archives_are_not_replaced BEFORE INSERT ON archives
WHEN EXISTS (SELECT 1 FROM archives WHERE session_id = NEW.session_id
             AND NEW.first_seq <= last_seq AND NEW.last_seq >= first_seq)
BEGIN SELECT RAISE(ABORT, 'these numbers have an archive'); END;

CREATE TRIGGER archives_never_vanish BEFORE DELETE ON archives
WHEN EXISTS (SELECT 1 FROM events WHERE session_id = OLD.session_id
             AND seq BETWEEN OLD.first_seq AND OLD.last_seq
             AND length(body) = 0 AND digest IS NOT NULL AND salt IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the log needs this archive'); END;
