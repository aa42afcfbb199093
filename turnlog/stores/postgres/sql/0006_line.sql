-- needs: 5
-- Questions that wait in line for their session, until their turns begin.
CREATE TABLE line (
    turn_id    TEXT PRIMARY KEY, -- of the turn that it will be
    session_id TEXT   NOT NULL REFERENCES sessions (id),
    place      BIGINT NOT NULL, -- behind those with a smaller one
    user_id    TEXT   NOT NULL,
    request_id TEXT,
    question   TEXT   NOT NULL, -- JSON
    created_at TEXT   COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX line_in_order ON line (session_id, place);
CREATE UNIQUE INDEX one_place_a_request ON line (session_id, request_id);
