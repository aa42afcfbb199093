-- Whether the model may search the web in a session, and how often it has.
ALTER TABLE sessions ADD COLUMN web_search INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN searches INTEGER NOT NULL DEFAULT 0;
