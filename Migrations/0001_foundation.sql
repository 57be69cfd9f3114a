-- The schema of Gatehouse. Files 0001 to 0016 make it, each about one subject and each table whole: its columns,
-- indexes, policies and functions stand together. `schema.sql` beside them is the result in one text.
--
-- Migrations go forward only. A file that has landed is never edited, because `gatehouse migrate` stops at a changed
-- checksum; a change of a table is a new file.
--
-- The comment of each table names its kind:
--   tenant     Each row belongs to one tenant, and row-level security shows a transaction only the rows of its own.
--   system     The rows belong to the whole server. Only grants protect them.
--   directory  It finds what is needed before the tenant is known. It holds ids and exact keys, and no role has a
--              grant: only the functions beside the table reach it.
-- Where a row names a tenant, the nil UUID stands for the platform.
--
-- Citus can spread the tenants over several servers (distributed/). It can hand a call on to the server of a tenant if
-- the function is in PL/pgSQL and takes the tenant as its first argument, so functions about one tenant do. PostgreSQL
-- also plans a function in PL/pgSQL once for a connection, but one in SQL at each call that it cannot inline.

-- Trigrams find parts of words. Together with btree_gin one index has the tenant and the text.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

GRANT USAGE ON SCHEMA public TO gatehouse_app, gatehouse_platform;
-- No role may call a function until a migration grants it.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
-- `gatehouse check` compares the schema with the program, as the app's role.
GRANT SELECT ON schema_migrations TO gatehouse_app;

-- The tenant of the current transaction, or NULL. A pooled connection keeps '' after SET LOCAL.
CREATE FUNCTION current_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('app.tenant', true), '')::uuid $$;
GRANT EXECUTE ON FUNCTION current_tenant() TO gatehouse_app, gatehouse_platform;

-- Protects a tenant table: a transaction reads and writes only the rows of its own tenant, even as the owner of the
-- table, and the platform's role reads the rows of all tenants. Call it behind each CREATE TABLE of this kind.
-- rights: what the app's role may do. own: which rows are the tenant's.
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

-- How many rows a table or an index has, as PostgreSQL estimates; below 1 before the first ANALYZE.
CREATE FUNCTION rows_about(place text) RETURNS bigint
    LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(place) $$;
GRANT EXECUTE ON FUNCTION rows_about(text) TO gatehouse_app, gatehouse_platform;
