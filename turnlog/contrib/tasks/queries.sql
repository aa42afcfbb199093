-- All SQL of the tasks but their migrations. Every statement about tasks names the user.

-- get_task --
-- One task, if it is the user's.
SELECT id, user_id, title, description, completed, created_at, updated_at
FROM tasks WHERE user_id = :user_id AND id = :id

-- get_task_of_key --
-- The task that a call has added.
SELECT id, user_id, title, description, completed, created_at, updated_at
FROM tasks WHERE user_id = :user_id AND key = :key

-- list_tasks --
-- The user's tasks, oldest first; completed NULL is any.
SELECT id, user_id, title, description, completed, created_at, updated_at
FROM tasks WHERE user_id = :user_id AND completed = coalesce(:completed, completed) ORDER BY id

-- count_tasks --
-- How many the user has.
SELECT count(*) FROM tasks WHERE user_id = :user_id

-- take_number --
-- The user's next number.
INSERT INTO task_numbers VALUES (:user_id, 1)
ON CONFLICT (user_id) DO UPDATE SET last = task_numbers.last + 1 RETURNING last

-- add_task --
-- A task that is not done yet.
INSERT INTO tasks (id, user_id, title, description, completed, created_at, updated_at, key)
VALUES (:id, :user_id, :title, :description, 0, :at, :at, :key)

-- delete_task --
-- For good.
DELETE FROM tasks WHERE user_id = :user_id AND id = :id

-- ── tasks that an older version kept in turnlog.db ──

-- has_old_tasks --
-- A row where there is such a table.
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tasks'

-- list_old_tasks --
-- All of them.
SELECT user_id, id, title, description, completed, created_at, updated_at, key FROM tasks

-- list_old_numbers --
-- The last number of each user.
SELECT user_id, last FROM task_numbers

-- keep_old_task --
-- One of them, as it was.
INSERT INTO tasks (user_id, id, title, description, completed, created_at, updated_at, key)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- keep_old_number --
-- One of them.
INSERT INTO task_numbers (user_id, last) VALUES (?, ?)

-- drop_old_tasks --
-- They are in the new place now.
BEGIN IMMEDIATE; DROP TABLE tasks; DROP TABLE task_numbers; COMMIT;
