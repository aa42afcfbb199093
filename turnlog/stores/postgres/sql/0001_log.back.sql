DROP FUNCTION instr(text, text), folded(text);
DROP TABLE audit_reads, nodes, files, tickets, tool_runs, approvals, message_citations, usage, messages, drafts, turns, events, sessions;
DROP FUNCTION refuse_gap(), refuse_change();
