-- kind: tenant. An upload of users. Its rows wait here until its job ends. expires_at: when an upload that broke off is
-- removed; NULL once it is a job's.
CREATE TABLE imports (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    job_id uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX imports_broken_off ON imports (expires_at) WHERE expires_at IS NOT NULL;

-- kind: tenant. document: the user as JSON, with a password's hash, until the person is purged; NULL: the row
-- cannot be imported, for the reason of `code`.
CREATE TABLE import_rows (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    row bigint NOT NULL,
    email_key text,
    document text,
    code text,
    detail text,
    PRIMARY KEY (tenant_id, import_id, row),
    FOREIGN KEY (tenant_id, import_id) REFERENCES imports (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX import_rows_by_person ON import_rows (tenant_id, email_key) WHERE email_key IS NOT NULL;

-- kind: tenant. What no two rows of one import may share: addresses, external ids, identities, each as the first
-- 8 bytes of a hash.
CREATE TABLE import_keys (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    key bigint NOT NULL,
    row bigint NOT NULL,
    PRIMARY KEY (tenant_id, import_id, key, row),
    FOREIGN KEY (tenant_id, import_id) REFERENCES imports (tenant_id, id) ON DELETE CASCADE
);

DO $$
DECLARE place name;
BEGIN
    FOREACH place IN ARRAY ARRAY['imports', 'import_rows', 'import_keys'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', place);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', place);
        EXECUTE format('CREATE POLICY %I ON %I USING (tenant_id = current_tenant())',
            place || '_tenant', place);
        EXECUTE format('CREATE POLICY %I ON %I FOR SELECT TO gatehouse_platform USING (true)',
            place || '_platform', place);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gatehouse_app', place);
        EXECUTE format('GRANT SELECT ON %I TO gatehouse_platform', place);
    END LOOP;
END $$;

-- As user_search_put, for many users at once.
CREATE FUNCTION user_search_put_all(wanted uuid[], texts text[], since timestamptz[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ INSERT INTO user_search
          SELECT current_tenant(), u.id, u.content, u.since
          FROM unnest(wanted, texts, since) AS u (id, content, since)
          WHERE current_tenant() IS NOT NULL
          ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content $$;
GRANT EXECUTE ON FUNCTION user_search_put_all(uuid[], text[], timestamptz[]) TO gatehouse_app;
