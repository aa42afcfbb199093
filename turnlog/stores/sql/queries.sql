-- All SQL that SQLite and PostgreSQL share. Each statement has a name, between dashes, and
-- a line that says what it does. Where a statement has {fields}, these are names of tables and
-- columns, or other statements of this file: never a value.

-- ── what is read at one moment ──

-- begin_reading --
-- What is read from here on is of one moment.
BEGIN

-- end_reading --
-- Others may be written to again.
COMMIT

-- ── any table ──

-- insert_row --
-- A row that must not be there yet.
INSERT INTO {table} ({columns}) VALUES ({values})

-- update_row --
-- Change the row with this key, if there is one.
UPDATE {table} SET {changes} WHERE {key}

-- get_status --
-- What became of an approval, or of a write in doubt.
SELECT status FROM {table} WHERE {key}

-- list_rows --
-- All rows of a session, for an audit.
SELECT {columns} FROM {table} WHERE session_id = :session_id

-- list_all_rows --
-- A table of a few rows, for a copy.
SELECT * FROM {table}

-- ── the log: columns in the order of events/rows/record.py ──

-- get_last_event --
-- What the next event is numbered and sealed after.
SELECT seq, seal FROM events WHERE session_id = :session_id ORDER BY seq DESC LIMIT 1

-- read_events --
-- From a number on, oldest first.
SELECT session_id, seq, turn_id, event_id, type, version, at, agent_id, agent_name, event_index,
       is_internal, body, salt, digest, seal
FROM events WHERE session_id = :session_id AND seq > :after ORDER BY seq LIMIT :limit

-- read_excerpt --
-- The same, each with the number without a body (by the index `emptied`) and the id before them.
SELECT (SELECT count(*) FROM events WHERE session_id = :session_id AND seq >= :anchor
        AND length(body) = 0),
       (SELECT event_id FROM events WHERE session_id = :session_id AND seq = :after),
       session_id, seq, turn_id, event_id, type, version, at, agent_id, agent_name, event_index,
       is_internal, body, salt, digest, seal
FROM events WHERE session_id = :session_id AND seq > :after ORDER BY seq

-- read_few_of_excerpt --
-- The first of them without the proof, where the session is the user's. What is too large is NULL.
SELECT (SELECT count(*) FROM events WHERE session_id = :session_id AND seq >= :anchor
        AND length(body) = 0),
       (SELECT event_id FROM events WHERE session_id = :session_id AND seq = :after),
       session_id, seq, turn_id, event_id, type, version, at, agent_id, agent_name, event_index,
       is_internal, CASE WHEN length(body) <= :largest THEN body END
FROM events WHERE session_id = :session_id AND seq > :after
  AND EXISTS (SELECT 1 FROM sessions WHERE id = :session_id AND user_id = :user_id)
ORDER BY seq LIMIT :limit

-- measure_events --
-- How many there are of these, and of how many bytes. The bytes themselves are not read.
SELECT count(*), coalesce(sum(size), 0) FROM (
    SELECT length(body) AS size
    FROM events WHERE session_id = :session_id AND seq > :after ORDER BY seq LIMIT :limit
) AS these

-- read_newest_bare --
-- Up to a number, newest first, without the proof. Each has the session's id, which is known.
SELECT seq, turn_id, event_id, type, version, at, agent_id, agent_name, event_index, is_internal,
       body
FROM events WHERE session_id = :session_id AND seq < :before ORDER BY seq DESC LIMIT :limit

-- read_newest_events --
-- Up to a number, newest first.
SELECT session_id, seq, turn_id, event_id, type, version, at, agent_id, agent_name, event_index,
       is_internal, body, salt, digest, seal
FROM events WHERE session_id = :session_id AND seq < :before ORDER BY seq DESC LIMIT :limit

-- ── archives: columns in the order of archives.py ──

-- list_archives --
-- Where bodies of a session's log are, oldest first.
SELECT session_id, first_seq, last_seq, place, size, unpacked, made_at
FROM archives WHERE session_id = :session_id ORDER BY first_seq

-- move_bodies --
-- They are in an archive now. A trigger wants to see its row.
UPDATE events SET body = :nothing
WHERE session_id = :session_id AND seq BETWEEN :first_seq AND :last_seq
  AND digest IS NOT NULL AND length(salt) > 0 AND length(body) > 0

-- bring_body_back --
-- It is in the log again.
UPDATE events SET body = :body WHERE session_id = :session_id AND seq = :seq

-- forget_archive --
-- Everything of it is in the log again: a trigger looks.
DELETE FROM archives WHERE session_id = :session_id AND first_seq = :first_seq

-- begin_erasing --
-- From here on, in this transaction, a trigger lets the content of the session be destroyed.
INSERT INTO erasing (session_id) VALUES (:session_id) ON CONFLICT DO NOTHING

-- erase_events --
-- What they say, with their salts. Rows of an old form are sealed with their body, and keep it.
UPDATE events SET body = :nothing, salt = :nothing
WHERE session_id = :session_id AND digest IS NOT NULL AND (length(body) > 0 OR length(salt) > 0)
RETURNING seq

-- erase_rows --
-- Those beside the log that repeat what it says. Turns that only rows of an old form tell keep theirs.
DELETE FROM {table} WHERE session_id = :session_id AND turn_id IN (
    SELECT turn_id FROM events WHERE session_id = :session_id AND digest IS NOT NULL)

-- note_erased_archives --
-- Nobody needs these files any more: what removes them may come later.
INSERT INTO archiving (place, session_id, owner, noted_at)
SELECT place, session_id, '', :noted_at FROM archives WHERE session_id = :session_id

-- erase_wholly --
-- What waits to be said, here or to others; and where archives were.
DELETE FROM {table} WHERE session_id = :session_id

-- erase_drafts --
-- The same of answers that are not finished.
DELETE FROM drafts WHERE turn_id IN (SELECT id FROM turns WHERE session_id = :session_id)

-- erase_title --
-- It is made of the first question.
UPDATE sessions SET title = '' WHERE id = :session_id

-- end_erasing --
-- The log is as it was before: append-only.
DELETE FROM erasing WHERE session_id = :session_id

-- list_closed_sessions --
-- Everybody's that are archived, where nothing went on since then and nothing waits.
SELECT id FROM sessions
WHERE archived = 1 AND coalesce((
    SELECT at FROM events WHERE events.session_id = sessions.id ORDER BY seq DESC LIMIT 1
), created_at) < :before
  AND NOT EXISTS (
    SELECT 1 FROM turns
    WHERE turns.session_id = sessions.id AND turns.state IN ('running', 'waiting')
) AND NOT EXISTS (SELECT 1 FROM line WHERE line.session_id = sessions.id)
ORDER BY created_at, id

-- list_archiving --
-- Files that were begun, or that nobody needs.
SELECT place, session_id, owner, noted_at FROM archiving

-- disown_file --
-- Whoever makes it may not finish. Nothing where it is finished.
UPDATE archiving SET owner = '' WHERE place = :place AND owner = :owner RETURNING place

-- forget_file_of_archive --
-- It is an archive now, or it is gone. Nothing where somebody took its maker for dead.
DELETE FROM archiving WHERE place = :place AND owner = :owner RETURNING place

-- list_archived_sessions --
-- Those that have archives.
SELECT DISTINCT session_id FROM archives ORDER BY session_id

-- ── sessions ──

-- has_message --
-- Whether any message has this id.
SELECT 1 FROM messages WHERE message_id = :message_id

-- get_session --
-- One session, if it is the user's; user NULL is the audit, which sees everybody's.
SELECT {columns}
FROM sessions LEFT JOIN turns AS open_turn
  ON open_turn.session_id = sessions.id AND open_turn.state IN ('running', 'waiting')
WHERE sessions.id = :id AND sessions.user_id = coalesce(:user_id, sessions.user_id)

-- has_session --
-- A row where the session is this user's.
SELECT 1 FROM sessions WHERE id = :id AND user_id = :user_id

-- session_columns --
-- What is known of a session, in the order of ports.Session: settings, then what goes on in it.
sessions.id, sessions.user_id, title, agent_id, created_at, anchor, archived, thinking_enabled,
thinking_budget, web_search, searches, engine, coalesce(open_turn.state, 'idle') AS state,
open_turn.id AS turn_id, coalesce((
    SELECT at FROM events WHERE events.session_id = sessions.id ORDER BY seq DESC LIMIT 1
), '') AS last_activity_at

-- list_sessions --
-- A page of a user's sessions, newest first, below the place (created_at, id). `said`: |id|id|.
SELECT {columns}
FROM sessions LEFT JOIN turns AS open_turn
  ON open_turn.session_id = sessions.id AND open_turn.state IN ('running', 'waiting')
WHERE sessions.user_id = :user_id AND archived = :archived
  AND (created_at, sessions.id) < (:created_at, :id)
  AND (:search = '' OR instr(folded(title), :search) > 0
       OR instr(:said, '|' || sessions.id || '|') > 0)
ORDER BY created_at DESC, sessions.id DESC LIMIT :limit

-- list_active_sessions --
-- A page of a user's sessions, those where something went on last first, below the place (at, id).
SELECT * FROM (
    SELECT {columns}
    FROM sessions LEFT JOIN turns AS open_turn
      ON open_turn.session_id = sessions.id AND open_turn.state IN ('running', 'waiting')
    WHERE sessions.user_id = :user_id AND archived = :archived
      AND (:search = '' OR instr(folded(title), :search) > 0
           OR instr(:said, '|' || sessions.id || '|') > 0)
) AS listed
WHERE (coalesce(nullif(last_activity_at, ''), created_at), id) < (:at, :id)
ORDER BY coalesce(nullif(last_activity_at, ''), created_at) DESC, id DESC LIMIT :limit

-- list_newest_texts --
-- Questions and answers of a user's newest sessions, as far as the bounds go: see stores/texts.py.
WITH newest AS (
    SELECT id, created_at FROM sessions WHERE user_id = :user_id AND archived = :archived
    ORDER BY created_at DESC, id DESC LIMIT :sessions
), said AS (
    SELECT session_id, seq, sum(length(body))
           OVER (ORDER BY newest.created_at DESC, session_id DESC, seq DESC) AS size
    FROM newest JOIN events ON events.session_id = newest.id
    WHERE type IN ('user_message_sent', 'message') AND is_internal = 0 AND seq > (
        SELECT max(seq) FROM events AS last WHERE last.session_id = newest.id
    ) - :events
)
SELECT events.session_id, body
FROM said JOIN events ON events.session_id = said.session_id AND events.seq = said.seq
WHERE size <= cast(:size AS bigint)

-- list_newest_archives --
-- Archives of the same sessions.
SELECT session_id, first_seq, last_seq, place, size, unpacked, made_at FROM (
    SELECT id, created_at FROM sessions WHERE user_id = :user_id AND archived = :archived
    ORDER BY created_at DESC, id DESC LIMIT :sessions
) AS newest JOIN archives ON archives.session_id = newest.id
ORDER BY newest.created_at DESC, newest.id DESC, archives.first_seq DESC LIMIT :archives

-- reaches_all --
-- Whether the bounds of a search leave nothing out: see stores/texts.py. What is older is not read.
WITH newest AS (
    SELECT id, (SELECT max(seq) FROM events WHERE session_id = sessions.id) - :events AS older,
           CASE WHEN (SELECT length(body) FROM events WHERE session_id = sessions.id AND seq = 0) > 0
                THEN -1 -- rows of an old form stay in the log
                ELSE (SELECT coalesce(max(last_seq), -1) FROM archives WHERE session_id = sessions.id)
           END AS moved
    FROM sessions WHERE user_id = :user_id AND archived = :archived
    ORDER BY created_at DESC, id DESC LIMIT cast(:sessions AS bigint) + 1
), left_out AS ( -- the first text of each session, or the first behind its archives, erased or not
    SELECT (SELECT seq FROM events
             WHERE session_id = newest.id AND seq > moved AND seq <= older
               AND type IN ('user_message_sent', 'message') AND is_internal = 0
             ORDER BY seq LIMIT 1) AS seq
    FROM newest
), said AS (
    SELECT length(body) AS size
    FROM newest JOIN events ON events.session_id = newest.id AND events.seq > older
    WHERE type IN ('user_message_sent', 'message') AND is_internal = 0
), files AS (
    SELECT unpacked FROM newest JOIN archives ON archives.session_id = newest.id
)
SELECT (SELECT count(*) FROM newest) <= cast(:sessions AS bigint)
   AND (SELECT count(seq) FROM left_out) = 0
   AND (SELECT coalesce(sum(size), 0) FROM said) <= cast(:size AS bigint)
   AND (SELECT count(*) FROM files) <= cast(:archives AS bigint)
   AND (SELECT coalesce(sum(unpacked), 0) FROM files) <= cast(:size AS bigint)

-- name_session --
-- A title for a session that has none.
UPDATE sessions SET title = :title WHERE id = :id AND title = ''

-- list_session_ids --
-- Everybody's sessions, for an audit.
SELECT id FROM sessions ORDER BY created_at, id

-- list_audited_sessions --
-- A page of everybody's sessions, or of one user's, for an auditor.
SELECT {columns}
FROM sessions LEFT JOIN turns AS open_turn
  ON open_turn.session_id = sessions.id AND open_turn.state IN ('running', 'waiting')
WHERE sessions.user_id = coalesce(:user_id, sessions.user_id)
  AND (created_at, sessions.id) < (:created_at, :id)
  AND (:search = '' OR instr(folded(title), :search) > 0)
ORDER BY created_at DESC, sessions.id DESC LIMIT :limit

-- ── the audit ──

-- get_last_read --
-- What the next read is numbered and sealed after.
SELECT number, seal FROM audit_reads ORDER BY number DESC LIMIT 1

-- add_read --
-- An auditor reads what is somebody else's.
INSERT INTO audit_reads (number, at, auditor, session_id, what, seal)
VALUES (:number, :at, :auditor, :session_id, :what, :seal)

-- list_reads --
-- The newest first; of one session, or of all.
SELECT at, auditor, session_id, what FROM audit_reads
WHERE session_id = coalesce(:session_id, session_id) ORDER BY number DESC LIMIT :limit

-- list_all_reads --
-- The whole trail, for its proof.
SELECT number, at, auditor, session_id, what, seal FROM audit_reads ORDER BY number

-- count_strays --
-- Rows whose session is not there.
SELECT session_id, count(*) FROM {table}
WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id ORDER BY session_id LIMIT 100

-- list_erasing --
-- Sessions that are not protected. Whoever erases one leaves none.
SELECT session_id FROM erasing ORDER BY session_id

-- count_stray_parts --
-- Rows whose turn is not there.
SELECT turn_id, count(*) FROM {table}
WHERE turn_id NOT IN (SELECT id FROM turns) GROUP BY turn_id ORDER BY turn_id LIMIT 100

-- ── turns ──

-- get_turns_before --
-- What stands before a new turn; a row only where the session is this user's.
-- It has who is first in line, the turn that runs or waits, the turn that the request started, or
-- this turn itself, and where the log ends.
SELECT (SELECT turn_id FROM line WHERE line.session_id = sessions.id ORDER BY place LIMIT 1),
       open_turn.id, open_turn.state, begun.id, begun.state, begun.first_seq, last.seq, last.seal
FROM sessions LEFT JOIN turns AS open_turn
  ON open_turn.session_id = sessions.id AND open_turn.state IN ('running', 'waiting')
LEFT JOIN turns AS begun
  ON begun.session_id = sessions.id AND begun.id = coalesce((
    SELECT id FROM turns WHERE session_id = :session_id AND request_id = :request_id
  ), :turn_id)
LEFT JOIN events AS last
  ON last.session_id = sessions.id
  AND last.seq = (SELECT max(seq) FROM events WHERE session_id = :session_id)
WHERE sessions.id = :session_id AND sessions.user_id = :user_id

-- get_turn --
-- One turn of a session.
SELECT id, session_id, user_id, state, first_seq, started_at, request_id
FROM turns WHERE id = :id AND session_id = :session_id

-- get_newest_turn --
-- That of the newest question: turns need no sorting. So many events at the log's end are looked at.
SELECT id, session_id, user_id, state, first_seq, started_at, request_id
FROM turns WHERE session_id = :session_id AND id = (
    SELECT turn_id FROM events
    WHERE session_id = :session_id AND type = 'user_message_sent'
      AND seq > (SELECT max(seq) FROM events WHERE session_id = :session_id) - :most
    ORDER BY seq DESC LIMIT 1
)

-- get_waiting_turn --
-- The turn of a session that waits for a person. SQLite wants the words of its index.
SELECT id, session_id, user_id, state, first_seq, started_at, request_id
FROM turns
WHERE session_id = :session_id AND state IN ('running', 'waiting') AND state = 'waiting'

-- list_running_turns --
-- Everybody's turns that run, each with its process.
SELECT owner, id, session_id, user_id, state, first_seq, started_at, request_id
FROM turns WHERE state IN ('running', 'waiting') AND state = 'running'

-- list_running_turns_of_session --
-- The same of one session.
SELECT owner, id, session_id, user_id, state, first_seq, started_at, request_id
FROM turns
WHERE session_id = :session_id AND state IN ('running', 'waiting') AND state = 'running'

-- list_turns --
-- Every turn of a session, for an audit. A lease is read out to nobody.
SELECT id, session_id, user_id, state, first_seq, started_at, request_id
FROM turns WHERE session_id = :session_id ORDER BY first_seq, id

-- add_draft --
-- One more piece of what was shown of the turn's unfinished answers.
INSERT INTO drafts (turn_id, part, piece) VALUES (
    :turn_id, (SELECT coalesce(max(part), -1) + 1 FROM drafts WHERE turn_id = :turn_id), :piece
)

-- list_drafts --
-- All of them, in order.
SELECT piece FROM drafts WHERE turn_id = :turn_id ORDER BY part

-- list_started_tools --
-- The turn's writes that began and have not ended.
SELECT tool_use_id FROM tool_runs
WHERE turn_id = :turn_id AND session_id = :session_id AND status = 'executing'

-- ── questions in line ──

-- count_line --
-- How many wait in a session, and the place behind the last of them.
SELECT count(*), coalesce(max(place), -1) + 1 FROM line WHERE session_id = :session_id

-- list_line --
-- Who waits in a session, the first one first.
SELECT turn_id FROM line WHERE session_id = :session_id ORDER BY place

-- get_waiting_question --
-- One question that waits.
SELECT turn_id, session_id, user_id, question, created_at FROM line WHERE turn_id = :turn_id

-- get_waiting_request --
-- The same, by the request that it came with.
SELECT turn_id, session_id, user_id, question, created_at FROM line
WHERE session_id = :session_id AND request_id = :request_id

-- list_free_lines --
-- Sessions where somebody waits and no turn is open.
SELECT DISTINCT session_id FROM line WHERE NOT EXISTS (
    SELECT 1 FROM turns
    WHERE turns.session_id = line.session_id AND turns.state IN ('running', 'waiting')
)

-- leave_line --
-- It begins, or is not asked.
DELETE FROM line WHERE turn_id = :turn_id

-- ── what people must decide ──

-- get_approval --
-- One approval, if it is the user's.
SELECT * FROM approvals WHERE approval_id = :approval_id AND user_id = :user_id

-- list_approvals --
-- The user's, oldest first; status NULL is any.
SELECT * FROM approvals WHERE user_id = :user_id AND status = coalesce(:status, status)
ORDER BY created_at, session_id, seq LIMIT :limit

-- list_approvals_of_calls --
-- The user's that were asked for these calls, open or not.
SELECT * FROM approvals WHERE user_id = :user_id AND tool_use_id IN ({calls})

-- find_approval --
-- One approval, whoever asked for it: the caller checks who may decide.
SELECT * FROM approvals WHERE approval_id = :approval_id

-- list_approvals_to_decide --
-- The user's own, and open ones of others, that the user may decide on; status NULL is any.
SELECT * FROM approvals
WHERE status = coalesce(:status, status)
  AND ((user_id = :user_id AND ({own}))
    OR (user_id <> :user_id AND ({others}) AND (status = 'pending' OR decided_by = :user_id)))
ORDER BY created_at, session_id, seq LIMIT :limit

-- decided_by_rules --
-- Where the rule is one of these.
may_decide IN ({rules})

-- decided_by_admin --
-- The same for an admin, who has every role, on what the admin asked for.
may_decide = 'asker' OR substr(may_decide, 1, 5) = 'role:'

-- decided_for_others_by_admin --
-- And on what others did.
may_decide = 'others' OR substr(may_decide, 1, 5) = 'role:' OR substr(may_decide, 1, 7) = 'others:'

-- list_due_approvals --
-- Everybody's open ones that have expired.
SELECT * FROM approvals WHERE status = 'pending' AND expires_at <= :now
ORDER BY expires_at, session_id, seq

-- get_next_expiry --
-- When the first of all open ones expires.
SELECT min(expires_at) FROM approvals WHERE status = 'pending'

-- list_doubts --
-- The user's writes of which nobody knows whether they took effect.
SELECT * FROM tool_runs WHERE user_id = :user_id AND status = 'in_doubt'
ORDER BY created_at, session_id, tool_use_id

-- ── tickets ──

-- forget_expired_tickets --
-- Those that open nothing any more.
DELETE FROM tickets WHERE expires_at <= :now

-- count_tickets --
-- How many a user has not used yet.
SELECT count(*) FROM tickets WHERE user_id = :user_id

-- take_ticket --
-- A ticket is there once: whoever takes it gets it.
DELETE FROM tickets WHERE digest = :digest AND expires_at > :now
RETURNING digest, user_id, holder, path, expires_at

-- ── bills and budgets ──

-- list_charges --
-- One row for each part of each model call, oldest first.
SELECT {columns} FROM usage WHERE {bounds} ORDER BY created_at, session_id, seq, part

-- sum_charges --
-- Tokens and known costs; these in millions and the rest, because a sum of many could overflow.
SELECT
    CAST(coalesce(sum(input_tokens + output_tokens + cache_write_5m_tokens
                      + cache_write_1h_tokens + cache_read_tokens), 0) AS BIGINT),
    CAST(coalesce(sum(cost_picousd / 1000000), 0) AS BIGINT),
    CAST(coalesce(sum(cost_picousd % 1000000), 0) AS BIGINT)
FROM usage WHERE {bounds}

-- bound_none --
-- Bounds of charges: all of them. An index serves each of the others.
TRUE

-- bound_user_id --
-- Of one user.
user_id = :user_id

-- bound_agent_id --
-- Of one agent.
agent_id = :agent_id

-- bound_session_id --
-- Of one session.
session_id = :session_id

-- bound_start --
-- From this moment on.
created_at >= :start

-- bound_end --
-- Before this moment.
created_at < :end

-- count_messages --
-- Questions and answers of a session that are shown.
SELECT count(*) FROM messages WHERE session_id = :session_id AND is_internal = 0

-- ── files: columns in the order of ports/files.py ──

-- get_file --
-- One file, if it is the user's and not deleted.
SELECT id, user_id, session_id, created_at, name, kind, media_type, size, sha256, width, height,
       pages, text_length, model_type, model_size, locked, metadata, deleted, uses,
       last_used_at
FROM files WHERE id = :id AND user_id = :user_id AND deleted = 0

-- find_file --
-- The user's file with this content, deleted or not.
SELECT id, user_id, session_id, created_at, name, kind, media_type, size, sha256, width, height,
       pages, text_length, model_type, model_size, locked, metadata, deleted, uses,
       last_used_at
FROM files WHERE user_id = :user_id AND sha256 = :sha256

-- list_files --
-- A page of a user's files, newest first, below the place (created_at, id).
SELECT id, user_id, session_id, created_at, name, kind, media_type, size, sha256, width, height,
       pages, text_length, model_type, model_size, locked, metadata, deleted, uses,
       last_used_at
FROM files
WHERE user_id = :user_id AND deleted = 0 AND (created_at, id) < (:created_at, :id)
ORDER BY created_at DESC, id DESC LIMIT :limit

-- list_every_file --
-- Everybody's, for the sweep and the audit.
SELECT id, user_id, session_id, created_at, name, kind, media_type, size, sha256, width, height,
       pages, text_length, model_type, model_size, locked, metadata, deleted, uses,
       last_used_at
FROM files WHERE id > :after ORDER BY id LIMIT :limit

-- sum_files --
-- How many bytes a user's files have.
SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM files WHERE user_id = :user_id

-- note_use_of_file --
-- A turn came with it.
UPDATE files SET uses = uses + 1, last_used_at = :at WHERE id = :id AND user_id = :user_id

-- forget_file --
-- The row of a file whose bytes are gone.
DELETE FROM files WHERE id = :id AND user_id = :user_id AND deleted = 1

-- ── deposits: columns in the order of ports/storage/deposits.py ──

-- list_deposits_of_file --
-- What rests with the provider of one file.
SELECT account, provider_id, user_id, file_id, part, expires_at FROM deposits
WHERE file_id = :file_id AND user_id = :user_id AND account = :account

-- list_orphan_deposits --
-- Those whose file is deleted.
SELECT d.account, d.provider_id, d.user_id, d.file_id, d.part, d.expires_at
FROM deposits AS d LEFT JOIN files ON files.id = d.file_id AND files.deleted = 0
WHERE d.account = :account AND files.id IS NULL ORDER BY d.provider_id LIMIT :limit

-- list_deposits --
-- All of one account.
SELECT account, provider_id, user_id, file_id, part, expires_at FROM deposits
WHERE account = :account ORDER BY provider_id LIMIT :limit

-- forget_deposit --
-- It is not at the provider any more.
DELETE FROM deposits WHERE account = :account AND provider_id = :provider_id

-- forget_expired_deposits --
-- The provider has removed them by itself.
DELETE FROM deposits WHERE expires_at <= :now

-- ── notices for webhooks ──

-- list_due_notices --
-- Those of an endpoint that are to be sent now, oldest first.
SELECT * FROM outbox WHERE endpoint = :endpoint AND status = 'waiting' AND due_at <= :now
ORDER BY due_at, created_at, id LIMIT :limit

-- claim_notice --
-- Nobody else sends it until then; nothing where another was quicker.
UPDATE outbox SET due_at = :until
WHERE id = :id AND endpoint = :endpoint AND due_at = :due_at AND status = 'waiting' RETURNING id

-- get_next_notice --
-- When the first of an endpoint that waits is due.
SELECT min(due_at) FROM outbox WHERE endpoint = :endpoint AND status = 'waiting'

-- settle_notice --
-- What came of a try.
UPDATE outbox SET status = :status, tries = :tries, due_at = :due_at, outcome = :outcome
WHERE id = :id AND endpoint = :endpoint RETURNING id

-- list_notices --
-- Everybody's, newest first; status NULL is any.
SELECT * FROM outbox WHERE status = coalesce(:status, status)
ORDER BY created_at DESC, id, endpoint LIMIT :limit

-- replay_notices --
-- Send again: one, or all with this status; NULL is any.
UPDATE outbox SET status = 'waiting', tries = 0, due_at = :now
WHERE id = coalesce(:id, id) AND status = coalesce(:status, status) RETURNING id

-- forget_notices --
-- What is old and does not wait any more.
DELETE FROM outbox WHERE created_at < :before AND status <> 'waiting' RETURNING id

-- ── citations: columns in the order of citations.py ──

-- get_message_of_user --
-- A row where the user has a visible message with this id.
SELECT 1 FROM messages
WHERE message_id = :message_id AND user_id = :user_id AND is_internal = 0

-- list_citations_of_message --
-- In the order of the answer.
SELECT message_id, position, session_id, created_at, seq, block_index, kind, cited_text, location
FROM message_citations WHERE message_id = :message_id AND user_id = :user_id ORDER BY position

-- list_citations_of_session --
-- In the order of the answers; those of visible ones.
SELECT c.message_id, c.position, c.session_id, c.created_at, c.seq, c.block_index, c.kind,
       c.cited_text, c.location
FROM message_citations AS c JOIN messages ON messages.message_id = c.message_id
WHERE c.session_id = :session_id AND c.seq > :after AND messages.is_internal = 0
ORDER BY c.seq, c.position LIMIT :limit
