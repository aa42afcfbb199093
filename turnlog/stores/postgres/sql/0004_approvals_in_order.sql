-- needs: 3
-- What somebody may decide is listed oldest first, whoever asked.
CREATE INDEX approvals_in_order ON approvals (created_at, session_id, seq);
