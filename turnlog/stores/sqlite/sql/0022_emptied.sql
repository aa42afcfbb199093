-- Numbers whose content was erased, or is in an archive: what a server remembers of a session
-- holds only where there are no more of them than there were.
CREATE INDEX emptied ON events (session_id, seq) WHERE length(body) = 0;
