-- needs: 9
-- What a program asked its client for is found again by its call, however many there were before.
CREATE INDEX approvals_of_calls ON approvals (user_id, tool_use_id);
