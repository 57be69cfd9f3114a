-- Files 0001 to 0016 are the baseline of the schema, one family of tables each. Migrations go forward
-- only: a file that has landed is never edited, because `gatehouse migrate` stops at a changed
-- checksum. A change of a table is a new file.
--
-- Each table names its kind:
--   tenant     each row belongs to one tenant; row-level security shows a transaction the rows of its
--              tenant alone
--   system     rows of the whole server, under grants alone
--   directory  what has to be found before the tenant is known: ids only, exact match only, no grant to
--              any role; only the functions beside it reach it
-- The nil UUID stands for the platform where a row names a tenant.

-- Substring search by trigrams inside one tenant: one GIN index over (tenant_id, text).
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

GRANT USAGE ON SCHEMA public TO gatehouse_app, gatehouse_platform;
-- No role may call a function until a migration grants it.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
-- `gatehouse check` reads as the app role whether the schema is the one that the program expects.
GRANT SELECT ON schema_migrations TO gatehouse_app;

-- The tenant of the current transaction, or NULL: a pooled connection keeps '' after SET LOCAL.
CREATE FUNCTION current_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('app.tenant', true), '')::uuid $$;
GRANT EXECUTE ON FUNCTION current_tenant() TO gatehouse_app, gatehouse_platform;

-- Row-level security of a tenant table, for its owner too: a transaction reads and writes the rows of
-- its own tenant; the platform role reads those of all. rights: what the app role may do. own: which
-- rows are the tenant's. The session does not own the function, so an interrupted `gatehouse migrate` can go
-- on; 0016 drops it, and a later file that creates a tenant table writes these statements itself.
CREATE FUNCTION protect(relation text, rights text DEFAULT 'SELECT, INSERT, UPDATE, DELETE',
    own text DEFAULT 'tenant_id = current_tenant()') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relation);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', relation);
    EXECUTE format('CREATE POLICY %I ON %I USING (%s)', relation || '_tenant', relation, own);
    EXECUTE format('CREATE POLICY %I ON %I FOR SELECT TO gatehouse_platform USING (true)',
        relation || '_platform', relation);
    EXECUTE format('GRANT %s ON %I TO gatehouse_app', rights, relation);
    EXECUTE format('GRANT SELECT ON %I TO gatehouse_platform', relation);
END $$;
