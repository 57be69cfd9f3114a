-- Who made a link to a new password: the links of a key that leaked end with it.
ALTER TABLE password_resets ADD COLUMN made_by_type text;
-- then
ALTER TABLE password_resets ADD COLUMN made_by_id text;
