-- Substring search by trigrams inside one tenant: one GIN index over (tenant_id, text).
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
GRANT USAGE ON SCHEMA public TO gatehouse_app, gatehouse_platform;
-- A function is nobody's until it is granted.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
-- The tenant of the current transaction, or NULL: a pooled connection keeps '' after SET LOCAL.
CREATE FUNCTION current_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('app.tenant', true), '')::uuid $$;
GRANT EXECUTE ON FUNCTION current_tenant() TO gatehouse_app, gatehouse_platform;
