-- The live origin policy asks before any tenant is known to be the caller's: one function answers
-- with the rows that list one origin and with nothing else. The owner of the schema, as whom it
-- runs, may therefore read these tables across tenants; no role that connects is that owner.
CREATE INDEX cors_origins_by_origin ON cors_origins (origin);
CREATE POLICY cors_origins_owner ON cors_origins FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY domains_owner ON domains FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY policies_owner ON policies FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY tenants_owner ON tenants FOR SELECT TO CURRENT_USER USING (true);

-- A wildcard stands only while its domain, or one above it, is the tenant's verified one.
CREATE FUNCTION origin_wildcard_stands(tenant uuid, base text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT EXISTS (
        SELECT 1 FROM domains d WHERE d.tenant_id = tenant AND d.status = 'verified'
            AND (d.domain = base OR right(base, length(d.domain) + 1) = '.' || d.domain)) $$;

-- wanted: the tenant, or NULL. locator: names a tenant by its key's locator, or NULL.
-- listed: the origin itself and the wildcard that would cover it. everywhere: every active
-- tenant's rows count. A tenant is told by one row even where it lists nothing (origin NULL).
CREATE FUNCTION origin_rows(wanted uuid, slug_of text, locator_of text, listed text[], everywhere boolean)
RETURNS TABLE (tenant_id uuid, status text, dev_origins boolean, private_network boolean,
    origin text, credentials boolean, expires_at timestamptz, stands boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE holder uuid := wanted;
BEGIN
    IF slug_of IS NOT NULL THEN
        SELECT s.tenant_id INTO holder FROM directory_slugs s WHERE s.slug = slug_of;
    ELSIF locator_of IS NOT NULL THEN
        SELECT l.tenant_id INTO holder FROM directory_locators l WHERE l.locator = locator_of;
    END IF;
    RETURN QUERY
        SELECT o.tenant_id, 'active', false, false, o.origin, o.credentials, o.expires_at,
            o.kind = 'exact'
        FROM cors_origins o
        WHERE o.tenant_id = '00000000-0000-0000-0000-000000000000' AND o.origin = ANY (listed);
    RETURN QUERY
        SELECT t.id, t.status, coalesce((p.document ->> 'dev_origins')::boolean, false),
            coalesce((p.document ->> 'private_network')::boolean, false),
            o.origin, o.credentials, o.expires_at,
            o.kind = 'exact' OR origin_wildcard_stands(t.id, substr(o.origin, 11))
        FROM tenants t
        LEFT JOIN policies p ON p.tenant_id = t.id AND p.version = t.policy_version
        LEFT JOIN cors_origins o ON o.tenant_id = t.id AND o.origin = ANY (listed)
        WHERE t.id = holder;
    IF everywhere THEN
        RETURN QUERY
            SELECT t.id, t.status, false, false, o.origin, false, o.expires_at,
                o.kind = 'exact' OR origin_wildcard_stands(t.id, substr(o.origin, 11))
            FROM cors_origins o JOIN tenants t ON t.id = o.tenant_id
            WHERE o.origin = ANY (listed) AND t.status = 'active' AND t.id IS DISTINCT FROM holder;
    END IF;
END $$;
GRANT EXECUTE ON FUNCTION origin_rows(uuid, text, text, text[], boolean) TO gatehouse_app;
