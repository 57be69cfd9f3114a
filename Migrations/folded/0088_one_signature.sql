-- The last file of the chain that was folded into the files 0001 to 0016. `gatehouse migrate` applies it to a database
-- that the chain made: afterwards such a database and a new one have the same schema.

-- These functions take their tenant as an argument. Nothing calls their older forms, which had none; a distributed
-- database has lost them before.
DROP FUNCTION IF EXISTS user_search_put(uuid, text, timestamptz);
-- then
DROP FUNCTION IF EXISTS user_search_put_all(uuid[], text[], timestamptz[]);
-- then
DROP FUNCTION IF EXISTS user_search_drop(uuid);
-- then
DROP FUNCTION IF EXISTS tenant_rows_remove(uuid, bigint);
-- then
DROP FUNCTION IF EXISTS audit_redact_tenant(uuid, bigint);
-- then

-- operator_devices took the place of this table.
DROP TABLE operator_places;
-- then

-- The program names the tenant of each response that it stores, so nothing uses the default. A distributed database
-- keeps it, because Citus refuses every change of the column by which it distributes a table.
DO $$ BEGIN
    IF EXISTS (SELECT FROM schema_migrations WHERE version LIKE 'distributed/%') THEN RETURN; END IF;
    ALTER TABLE idempotency ALTER COLUMN tenant_id DROP DEFAULT;
END $$;
-- then

-- The function with which a migration protects a tenant table stays: 0001_foundation.sql has its comment.
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
