-- The seal of an event covers a digest of its body, so that the body can be destroyed and the
-- chain still proven. Rows without a digest were written before, and are sealed with their body.
ALTER TABLE events ADD COLUMN salt BLOB;   -- of the digest; destroyed with the body
ALTER TABLE events ADD COLUMN digest BLOB; -- of salt and body; an empty body: erased
