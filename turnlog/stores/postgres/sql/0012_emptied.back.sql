DROP INDEX emptied;
