-- Who may decide on an approval, and what its turn had cost until it was asked for.
ALTER TABLE approvals ADD COLUMN may_decide TEXT NOT NULL DEFAULT 'asker';
ALTER TABLE approvals ADD COLUMN cost_picousd INTEGER; -- NULL is unknown
CREATE INDEX approvals_for_others ON approvals (status, may_decide) WHERE may_decide <> 'asker';
