-- kind: tenant. The platform's rows have the nil tenant.
CREATE TABLE cors_origins (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    origin text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('exact', 'wildcard')),
    credentials boolean NOT NULL DEFAULT false,
    label text,
    expires_at timestamptz,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, origin)
);
CREATE INDEX cors_origins_by_origin ON cors_origins (origin);
SELECT protect('cors_origins');
CREATE POLICY cors_origins_owner ON cors_origins FOR SELECT TO CURRENT_USER USING (true);

-- The CORS policy asks before it knows whose tenant the caller is in. The function returns the rows that list
-- one origin and nothing else. wanted: the tenant, or NULL. locator_of: names a tenant by the locator of its
-- key, or NULL. listed: the origin itself and the wildcard that would cover it. everywhere: the rows of every
-- active tenant count. One row describes a tenant even if it lists nothing (origin NULL).
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
