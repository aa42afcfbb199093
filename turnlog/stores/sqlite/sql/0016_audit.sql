-- What auditors read of others: a log of its own, so that no session's numbers change by it.
CREATE TABLE audit_reads (
    number     INTEGER PRIMARY KEY, -- 0, 1, ... without a gap
    at         TEXT NOT NULL,
    auditor    TEXT NOT NULL,
    session_id TEXT NOT NULL,       -- '': the list of all sessions
    what       TEXT NOT NULL,
    seal       BLOB NOT NULL        -- over this row and the seal before it
);
CREATE INDEX reads_of_session ON audit_reads (session_id, number);
CREATE TRIGGER reads_never_change BEFORE UPDATE ON audit_reads
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only: no UPDATE'); END;
CREATE TRIGGER reads_never_vanish BEFORE DELETE ON audit_reads
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only: no DELETE'); END;
