DO $$ BEGIN
    IF EXISTS (SELECT FROM archives) THEN
        RAISE EXCEPTION 'there are archives: run `turnlog archive --restore` first';
    END IF;
END $$;
CREATE OR REPLACE TRIGGER events_never_change BEFORE UPDATE OR DELETE ON events
FOR EACH ROW EXECUTE FUNCTION refuse_change();
DROP TABLE archives;
DROP FUNCTION refuse_change_of_log();
DROP FUNCTION refuse_change_of_archive();
