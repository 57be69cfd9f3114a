-- kind: tenant (its own id is the tenant).
CREATE TABLE tenants (
    id uuid PRIMARY KEY,
    slug text NOT NULL,
    name text NOT NULL,
    locator text NOT NULL,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'deleted')),
    policy_version integer NOT NULL DEFAULT 1,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    -- The list of tenants can be sorted by name. ICU lowers the letters of every script; the locale of
    -- the database may know only ASCII.
    name_key text NOT NULL GENERATED ALWAYS AS (lower(name COLLATE "und-x-icu")) STORED
);
CREATE INDEX tenants_by_age ON tenants (created_at, id);
CREATE INDEX tenants_by_name ON tenants (name_key, id);
CREATE INDEX tenants_by_deletion ON tenants (deleted_at) WHERE status = 'deleted';
SELECT protect('tenants', own => 'id = current_tenant()');
-- Functions that run as the owner of the schema read across tenants here, and in five more tables with
-- such a policy: the CORS policy asks before it knows the tenant, and row-level security would switch
-- the trigram indexes of a search off. No role that connects is that owner.
CREATE POLICY tenants_owner ON tenants FOR SELECT TO CURRENT_USER USING (true);

-- kind: tenant. Every published policy stays; tenants.policy_version names the one in force.
CREATE TABLE policies (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    document jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, version)
);
SELECT protect('policies', rights => 'SELECT, INSERT');
CREATE POLICY policies_owner ON policies FOR SELECT TO CURRENT_USER USING (true);

-- kind: tenant. Several tenants may claim one domain; directory_domains holds the verified claim.
CREATE TABLE domains (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    domain text NOT NULL,
    display text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'verified')),
    include_subdomains boolean NOT NULL DEFAULT false,
    token text NOT NULL,
    method text CHECK (method IN ('dns', 'operator')),
    created_at timestamptz NOT NULL,
    verified_at timestamptz,
    -- The service checks a domain that DNS proved again. check_at: when next; lost_at: since when the
    -- record is missing; changed_at: when the service itself last changed what is shown of the domain.
    check_at timestamptz,
    lost_at timestamptz,
    changed_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, domain)
);
CREATE INDEX domains_to_check ON domains (coalesce(check_at, verified_at))
    WHERE status = 'verified' AND method = 'dns';
CREATE INDEX domains_unproved ON domains (domain) WHERE status = 'pending';
SELECT protect('domains');
CREATE POLICY domains_owner ON domains FOR SELECT TO CURRENT_USER USING (true);

-- The tenants that claim one of the domains without proof, so that a refusal can say what was missing.
CREATE FUNCTION domain_claimants(wanted text[]) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM domains WHERE domain = ANY (wanted) AND status = 'pending'
          ORDER BY created_at, tenant_id LIMIT 10 $$;
GRANT EXECUTE ON FUNCTION domain_claimants(text[]) TO gatehouse_app;

-- A wildcard origin or a bound host is valid only while its domain, or one above it, is the tenant's
-- verified one.
CREATE FUNCTION origin_wildcard_stands(tenant uuid, base text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT EXISTS (
        SELECT 1 FROM domains d WHERE d.tenant_id = tenant AND d.status = 'verified'
            AND (d.domain = base OR right(base, length(d.domain) + 1) = '.' || d.domain)) $$;
