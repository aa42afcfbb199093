-- Who works on a turn holds its lease: a token that every change of the turn must show. Whoever
-- claims the turn gets another one. Empty: nobody holds it.
ALTER TABLE turns ADD COLUMN lease TEXT NOT NULL DEFAULT '';
