DROP INDEX approvals_in_order;
