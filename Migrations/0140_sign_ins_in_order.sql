-- A list asks for each user's sign-ins, oldest first, without a sort for each.
CREATE INDEX identities_of_user ON identities (tenant_id, user_id, created_at, id);
DROP INDEX identities_by_user;
