-- Browsers may call the API only from the origins that a tenant or the platform lists (CORS).

-- kind: tenant. The platform's rows have the nil tenant.
CREATE TABLE cors_origins (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    origin text NOT NULL,
    -- A wildcard covers all hosts below a domain: https://*.example.com
    kind text NOT NULL CHECK (kind IN ('exact', 'wildcard')),
    credentials boolean NOT NULL DEFAULT false,
    label text,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, origin)
);
CREATE INDEX cors_origins_by_age ON cors_origins (tenant_id, created_at, id);
CREATE INDEX cors_origins_by_origin ON cors_origins (origin);
CREATE INDEX cors_origins_by_id ON cors_origins ((id::text));
SELECT protect('cors_origins');
CREATE POLICY cors_origins_owner ON cors_origins FOR SELECT TO CURRENT_USER USING (true);

-- The rows that list an origin. The CORS policy asks before it knows whose tenant the caller is in. wanted: the tenant,
-- or NULL; slug_of and locator_of name it by its slug or by the locator of its key instead. listed: the origin itself
-- and the wildcard that would cover it. everywhere: the rows of every active tenant count. A tenant that lists nothing
-- has one row all the same, whose origin is NULL. `stands` is computed here and not by origin_wildcard_stands, because
-- Citus runs no function that reads a tenant's tables within a query of tables.
CREATE FUNCTION origin_rows(wanted uuid, slug_of text, locator_of text, listed text[], everywhere boolean)
RETURNS TABLE (tenant_id uuid, status text, dev_origins boolean, private_network boolean, origin text,
    credentials boolean, expires_at timestamptz, stands boolean)
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
            o.kind = 'exact' OR EXISTS (
                    SELECT 1 FROM domains d WHERE d.tenant_id = t.id AND d.status = 'verified'
                        AND (d.domain = substr(o.origin, 11)
                            OR right(substr(o.origin, 11), length(d.domain) + 1) = '.' || d.domain))
        FROM tenants t
        LEFT JOIN policies p ON p.tenant_id = t.id AND p.version = t.policy_version
        LEFT JOIN cors_origins o ON o.tenant_id = t.id AND o.origin = ANY (listed)
        WHERE t.id = holder;
    IF everywhere THEN
        RETURN QUERY
            SELECT t.id, t.status, false, false, o.origin, false, o.expires_at,
                o.kind = 'exact' OR EXISTS (
                    SELECT 1 FROM domains d WHERE d.tenant_id = t.id AND d.status = 'verified'
                        AND (d.domain = substr(o.origin, 11)
                            OR right(substr(o.origin, 11), length(d.domain) + 1) = '.' || d.domain))
            FROM cors_origins o JOIN tenants t ON t.id = o.tenant_id
            WHERE o.origin = ANY (listed) AND t.status = 'active' AND t.id IS DISTINCT FROM holder;
    END IF;
END $$;
GRANT EXECUTE ON FUNCTION origin_rows(uuid, text, text, text[], boolean) TO gatehouse_app;

-- kind: tenant. Origins that were refused within an hour, for the console. Whoever can send a request causes a row, so
-- a tenant has at most 100 in an hour. paths: templates of the paths that were asked for, at most three.
CREATE TABLE refused_origins (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    origin text NOT NULL,
    count bigint NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    paths text[] NOT NULL,
    PRIMARY KEY (tenant_id, hour, origin)
);
CREATE INDEX refused_origins_by_hour ON refused_origins (hour);
SELECT protect('refused_origins');
