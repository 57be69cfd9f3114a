-- Who made a grant, who must not use it for an own sign-in; and the grant that an unproved native
-- sign-up brought, which is used once its address is proved.
ALTER TABLE link_grants ADD COLUMN made_by_type text, ADD COLUMN made_by_id text;
ALTER TABLE reservations ADD COLUMN link_grant bytea;
