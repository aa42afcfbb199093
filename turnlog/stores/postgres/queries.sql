-- The SQL that only PostgreSQL has, but its migrations. What it shares with others is in
-- stores/sql/queries.sql, which says how these files are read.

-- ── a transaction ──

-- begin --
-- Each statement sees what others have committed: the lock of the session makes it safe.
BEGIN

-- commit --
-- On disk.
COMMIT

-- roll_back --
-- As if nothing had been written.
ROLLBACK

-- lock --
-- One transaction at a time has this name, until it is over; and its number.
SELECT pg_advisory_xact_lock(hashtextextended(:name, 0)), pg_current_xact_id()::text

-- get_transaction --
-- The number of this transaction, if it has written anything.
SELECT pg_current_xact_id_if_assigned()::text

-- get_life --
-- The timeline of the database: a replica that takes over begins another one. Empty: not yet.
SELECT CASE WHEN pg_is_in_recovery() THEN ''
            ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END

-- get_outcome --
-- What became of a transaction whose commit was not answered; NULL: that was in another life.
SELECT CASE WHEN pg_is_in_recovery() THEN 'in progress'
            WHEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) = :life
            THEN pg_xact_status(cast(:number AS text)::xid8) END

-- ── nodes ──

-- enter_node --
-- A process that works here, seen just now.
INSERT INTO nodes (id, address, started_at, seen_at)
VALUES (:id, :address, clock_timestamp(), clock_timestamp())

-- see_node --
-- It lives. By the clock of the database, whatever the clocks of the nodes say.
INSERT INTO nodes (id, address, started_at, seen_at)
VALUES (:id, :address, clock_timestamp(), clock_timestamp())
ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()

-- leave_node --
-- It works here no more.
DELETE FROM nodes WHERE id = :id

-- forget_nodes --
-- Those that died long ago.
DELETE FROM nodes WHERE seen_at < clock_timestamp() - interval '1 day'

-- ── what users may write ──

-- take_writes --
-- So many of the wanted writes as the user's bucket has: it fills up again within a minute.
INSERT INTO writes AS bucket (user_id, remaining, taken, at)
VALUES (:user_id, cast(:most AS integer) - :wanted, cast(:wanted AS integer), clock_timestamp())
ON CONFLICT (user_id) DO UPDATE SET (remaining, taken, at) = (
    SELECT there - least(floor(there), cast(:wanted AS integer)),
           least(floor(there), cast(:wanted AS integer)), moment
    FROM (SELECT clock_timestamp() AS moment) AS clock,
    LATERAL (SELECT least(cast(:most AS integer), bucket.remaining
             + greatest(extract(epoch FROM moment - bucket.at), 0) -- 0: the clock was set back
             * cast(:most AS integer) / 60) AS there) AS filled
)
RETURNING taken

-- forget_writes --
-- Buckets that are full again.
DELETE FROM writes WHERE at < clock_timestamp() - interval '1 hour'

-- list_living_nodes --
-- Those that were seen within so many seconds.
SELECT id FROM nodes
WHERE seen_at > clock_timestamp() - make_interval(secs => cast(:seconds AS double precision))

-- ── the schema ──

-- has_schema --
-- Whether anything was made here.
SELECT to_regclass('schema_changes') IS NOT NULL

-- lock_schema --
-- One who migrates at a time. The number stands for "turnlog".
SELECT pg_advisory_lock(8390880602276557383)

-- unlock_schema --
-- The next one may.
SELECT pg_advisory_unlock(8390880602276557383)

-- make_schema --
-- The list of what was applied.
CREATE TABLE IF NOT EXISTS schema_changes (
    number     INTEGER PRIMARY KEY,
    needs      INTEGER NOT NULL, -- the oldest program, by the schema it knows, that may go on
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
)

-- get_schema --
-- The newest change, and the oldest program that can work with all of them.
SELECT coalesce(max(number), 0), coalesce(max(needs), 0) FROM schema_changes

-- add_schema --
-- A change was applied.
INSERT INTO schema_changes (number, needs) VALUES (:number, :needs)

-- drop_schema --
-- A change was taken back.
DELETE FROM schema_changes WHERE number = :number

-- ── the log ──

-- hold_session --
-- The lock of a session; the number of the transaction; whether the lease holds; the log's end.
SELECT transaction, holds, last_seq, last_seal
FROM hold_session(cast(:session_id AS text), cast(:turn_id AS text), cast(:lease AS text))

-- write_turn --
-- A change of a turn: see changes.py. How it went, and where the log ends.
SELECT outcome, last_seq, last_seal FROM write_turn(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36
)

-- count_arguments --
-- Of the function `write_turn`; NULL where there is none, or more than one.
SELECT pronargs FROM pg_proc WHERE oid = to_regproc('write_turn')

-- find_seal --
-- The end of a change that appended to the log.
SELECT 1 FROM events WHERE session_id = :session_id AND seq = :seq AND seal = :seal

-- find_state --
-- A turn that was let go.
SELECT 1 FROM turns WHERE id = :turn_id AND lease = :lease AND state = :state

-- find_run --
-- A call that began.
SELECT 1 FROM tool_runs
WHERE session_id = :session_id AND tool_use_id = :tool_use_id AND turn_id = :turn_id
  AND created_at = :created_at

-- find_draft --
-- One of the newest pieces of a draft.
SELECT 1 FROM (
    SELECT piece FROM drafts WHERE turn_id = :turn_id ORDER BY part DESC LIMIT 8
) AS newest WHERE piece = :piece

-- drop_drafts --
-- The turn is over, or waits: nobody needs them any more.
DELETE FROM drafts WHERE turn_id = :turn_id

-- append_event --
-- Rows of the log, where messages are in it, and others. A trigger refuses any number but the next.
WITH logged AS (
    INSERT INTO events (
        session_id, seq, turn_id, event_id, type, version, at, agent_id, agent_name, event_index,
        is_internal, body, salt, digest, seal
    ) SELECT * FROM unnest(
        $1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[],
        $8::text[], $9::text[], $10::bigint[], $11::integer[], $12::bytea[], $13::bytea[],
        $14::bytea[], $15::bytea[]
    )
){beside}
INSERT INTO message_ids (message_id, session_id, seq)
SELECT * FROM unnest($16::text[], $17::text[], $18::bigint[])

-- append_beside --
-- Rows of another table, in the same statement.
, {table}_rows AS (INSERT INTO {table} ({columns}) VALUES {rows})

-- ── limits ──

-- count_turns --
-- How many of a user's turns run, and how many began in that time, not later, on all nodes.
SELECT count(*) FILTER (WHERE state = 'running'),
       count(*) FILTER (WHERE started_at > :since AND started_at < :until)
FROM turns WHERE user_id = :user_id
  AND (state = 'running' OR (started_at > :since AND started_at < :until))

-- count_turns_with_files --
-- How many of those that began since then came with files.
SELECT count(*) FROM turns
JOIN events ON events.session_id = turns.session_id AND events.seq = turns.first_seq
WHERE turns.user_id = :user_id AND turns.started_at > :since AND turns.started_at < :until
  AND events.type = 'user_message_sent'
  AND nullif(convert_from(events.body, 'UTF8'), '')::json -> 'files' -> 0 IS NOT NULL

-- list_protections --
-- Triggers that are there and work.
SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'
