DROP INDEX approvals_of_calls;
