-- The SQL that only SQLite has, but its migrations. What it shares with others is in
-- stores/sql/queries.sql, which says how these files are read.

-- ── a connection ──

-- use_wal --
-- Readers work beside the writer.
PRAGMA journal_mode = WAL

-- sync_fully --
-- A commit is on disk before it is answered.
PRAGMA synchronous = FULL

-- check_references --
-- SQLite looks at REFERENCES only if it is told to.
PRAGMA foreign_keys = ON

-- overwrite_deleted --
-- What is deleted is gone from the file, too. Some builds of SQLite do it unasked, others do not.
PRAGMA secure_delete = ON

-- keep_few_pages --
-- At most 500 kB a connection: the system keeps the rest, and one that is read again takes 1 µs.
PRAGMA cache_size = -500

-- refuse_writes --
-- For connections that read.
PRAGMA query_only = ON

-- wait_shortly --
-- For others who use the database: milliseconds.
PRAGMA busy_timeout = 1000

-- empty_wal --
-- Every page goes over what was there in the file. First: whether somebody who reads is in the way.
PRAGMA wal_checkpoint(TRUNCATE)

-- check_pages --
-- Whether every page is where it should be; the first thing that is wrong.
PRAGMA quick_check(1)

-- check_whole --
-- Everything that is wrong, also between tables and their indexes; 100 things at most.
PRAGMA integrity_check

-- get_version --
-- The number of the last migration.
PRAGMA user_version

-- migrate --
-- One migration or several, as the start of a transaction.
BEGIN IMMEDIATE; {sql}; PRAGMA user_version = {number};

-- ── a transaction ──

-- begin_writing --
-- Take the write lock now, not in the middle.
BEGIN IMMEDIATE

-- commit --
-- On disk.
COMMIT

-- roll_back --
-- As if nothing had been written.
ROLLBACK

-- begin_job --
-- One job of a group.
SAVEPOINT job

-- end_job --
-- The job stays in the transaction.
RELEASE job

-- roll_back_job --
-- Of the group, this job alone is undone.
ROLLBACK TO job

-- ── the log ──

-- hold_turn --
-- A row where the turn runs and this is its lease: where the log ends.
SELECT seq, seal FROM turns LEFT JOIN events ON events.session_id = turns.session_id
WHERE turns.session_id = :session_id AND turns.id = :id AND state = 'running' AND lease = :lease AND lease <> ''
ORDER BY seq DESC LIMIT 1

-- append_event --
-- One event, and the id of the message that it is. Triggers refuse any number but the next.
INSERT INTO events (
    session_id, seq, turn_id, event_id, type, version, at, agent_id, agent_name, event_index,
    is_internal, body, salt, digest, seal, message_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- ── migration 5 ──

-- list_messages_to_fold --
-- Every message of everybody, for migration 5: as the log was then.
SELECT sessions.user_id, session_id, seq, turn_id, event_id, type, version, at, events.agent_id,
       agent_name, event_index, is_internal, body, NULL AS salt, NULL AS digest, seal
FROM events JOIN sessions ON sessions.id = session_id WHERE type = 'message'

-- list_protections --
-- Triggers and unique indexes, as they were made.
SELECT name, sql FROM sqlite_master
WHERE type = 'trigger' OR (type = 'index' AND sql LIKE 'CREATE UNIQUE%') ORDER BY name
