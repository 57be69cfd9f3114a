-- Who gave an invite its present role, where that is not its inviter: the role is bounded by what this
-- principal may still give when the invite is used. NULL: the inviter did.
ALTER TABLE invites ADD COLUMN role_by_type text, ADD COLUMN role_by_id text;
