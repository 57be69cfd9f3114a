-- A filtered list in either order walks one index; a rare provider is found from its own side.
CREATE INDEX users_by_status_email ON users (tenant_id, status, email_key, id);
CREATE INDEX users_by_role_email ON users (tenant_id, role, email_key, id);
CREATE INDEX identities_by_provider ON identities (tenant_id, provider, user_id);
-- What a pattern matches decides between the trigrams and a scan; a plan for any pattern does not.
ALTER FUNCTION user_search_find(uuid, text, integer) SET plan_cache_mode = 'force_custom_plan';
