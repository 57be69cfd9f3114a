-- kind: tenant. The platform's own keys stand under the nil tenant with the locator 000000.
CREATE TABLE api_keys (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    hash bytea NOT NULL,
    prefix text NOT NULL,
    last4 text NOT NULL,
    previous_hash bytea,
    previous_prefix text,
    previous_last4 text,
    previous_until timestamptz,
    previous_last_used_at timestamptz,
    previous_uses bigint NOT NULL DEFAULT 0,
    scopes text[] NOT NULL,
    owner_type text NOT NULL CHECK (owner_type IN ('user', 'tenant', 'platform')),
    owner_user_id uuid,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    rate_limit integer CHECK (rate_limit > 0),
    note text,
    allowed_ips text[] NOT NULL DEFAULT '{}',
    allowed_origins text[] NOT NULL DEFAULT '{}',
    expires_at timestamptz,
    last_used_at timestamptz,
    last_used_ip text,
    revoked_at timestamptz,
    revocation_reason text,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, hash)
);
CREATE UNIQUE INDEX api_keys_previous ON api_keys (tenant_id, previous_hash)
    WHERE previous_hash IS NOT NULL;
CREATE INDEX api_keys_by_age ON api_keys (tenant_id, created_at, id);
CREATE INDEX api_keys_by_owner ON api_keys (tenant_id, owner_user_id)
    WHERE owner_user_id IS NOT NULL;

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY api_keys_tenant ON api_keys USING (tenant_id = current_tenant());
CREATE POLICY api_keys_platform ON api_keys FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON api_keys TO gatehouse_app;
GRANT SELECT ON api_keys TO gatehouse_platform;

-- The hot look-up, one query: locator → tenant → key, with the states that can refuse it.
CREATE FUNCTION api_key_by_secret(wanted_locator text, wanted bytea)
RETURNS TABLE (tenant_id uuid, id uuid, environment text, is_previous boolean,
    previous_until timestamptz, scopes text[], owner_type text, owner_user_id uuid,
    rate_limit integer, allowed_ips text[], allowed_origins text[], expires_at timestamptz,
    revoked_at timestamptz, tenant_status text, user_status text, user_role text, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE holder uuid;
BEGIN
    IF wanted_locator = '000000' THEN
        holder := '00000000-0000-0000-0000-000000000000';
    ELSE
        SELECT d.tenant_id INTO holder FROM directory_locators d WHERE d.locator = wanted_locator;
        IF holder IS NULL THEN RETURN; END IF;
    END IF;
    PERFORM set_config('app.tenant', holder::text, true);
    RETURN QUERY
        SELECT k.tenant_id, k.id, k.environment, k.hash IS DISTINCT FROM wanted, k.previous_until,
            k.scopes, k.owner_type, k.owner_user_id, k.rate_limit, k.allowed_ips,
            k.allowed_origins, k.expires_at, k.revoked_at, t.status, u.status, u.role, k.name
        FROM api_keys k
        LEFT JOIN tenants t ON t.id = k.tenant_id
        LEFT JOIN users u ON u.tenant_id = k.tenant_id AND u.id = k.owner_user_id
        WHERE k.tenant_id = holder AND (k.hash = wanted OR k.previous_hash = wanted);
END $$;
GRANT EXECUTE ON FUNCTION api_key_by_secret(text, bytea) TO gatehouse_app;
