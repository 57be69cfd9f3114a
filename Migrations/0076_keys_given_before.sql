-- Keys that were there before scopes that lead to an admin were asked of who gives them, and before such keys had to
-- be made without a bound. The rows of now get the first default, later ones the second.
ALTER TABLE api_keys ADD COLUMN given_before boolean NOT NULL DEFAULT true;
-- then
ALTER TABLE api_keys ALTER COLUMN given_before SET DEFAULT false;
-- then
CREATE INDEX api_keys_given_before ON api_keys (tenant_id, created_at, id) WHERE given_before AND revoked_at IS NULL
    AND scopes && '{providers:write,clients:write,policy:write,operators:write,hooks:signup}'::text[];
