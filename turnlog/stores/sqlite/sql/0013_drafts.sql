-- What was shown of an unfinished answer, piece by piece: a piece is written once, and what an
-- answer costs does not grow with the square of its length.
CREATE TABLE drafts (
    turn_id TEXT    NOT NULL REFERENCES turns (id),
    part    INTEGER NOT NULL, -- 0, 1, ...
    piece   BLOB    NOT NULL,
    PRIMARY KEY (turn_id, part)
);
INSERT INTO drafts (turn_id, part, piece)
SELECT id, 0, draft FROM turns WHERE draft IS NOT NULL AND state = 'running';
ALTER TABLE turns DROP COLUMN draft;
