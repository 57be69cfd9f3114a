-- What the set-up token is derived from, so that each start shows the same one. NULL: it was random.
ALTER TABLE setup ADD COLUMN salt bytea;
