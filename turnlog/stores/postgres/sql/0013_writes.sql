-- needs: 9
-- What each user may still write, over all nodes: see transports/limits.py. It need not outlive
-- the server, so nothing of it goes into the log of PostgreSQL.
CREATE UNLOGGED TABLE writes (
    user_id   TEXT PRIMARY KEY,
    remaining DOUBLE PRECISION NOT NULL,
    taken     INTEGER NOT NULL, -- by the newest who asked
    at        TIMESTAMPTZ NOT NULL
);
