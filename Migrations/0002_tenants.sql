-- A tenant is an organisation that uses Gatehouse: its users, keys and settings are separate from all others'. It has a
-- policy, which decides who may come in, and domains, which prove that addresses are its own.

-- kind: tenant (the row's own id is the tenant).
CREATE TABLE tenants (
    id uuid PRIMARY KEY,
    slug text NOT NULL,
    name text NOT NULL,
    -- The list of tenants can be sorted by name. ICU lowers the letters of every script; the locale of the database may
    -- know only ASCII.
    name_key text NOT NULL GENERATED ALWAYS AS (lower(name COLLATE "und-x-icu")) STORED,
    -- Six characters in each API key of the tenant, by which the service finds the tenant of a key.
    locator text NOT NULL,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'deleted')),
    -- The policy in force.
    policy_version integer NOT NULL DEFAULT 1,
    -- From when the policy's rule for unused accounts counts at the earliest: when the policy was published, or when
    -- the tenant was last resumed. NULL: the policy has no such rule.
    inactivity_since timestamptz,
    -- The id of the tenant in the platform's own system. No two tenants have the same one until one is purged.
    external_id text COLLATE "C" CHECK (octet_length(external_id) BETWEEN 1 AND 255),
    -- The platform's own facts about the tenant, each a JSON object as it was written. No rule reads them.
    public_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(public_attributes) <= 16384),
    private_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(private_attributes) <= 16384),
    -- How the tenant's sign-in, invite and join pages look. directory_logos has the logo.
    appearance_name text CHECK (char_length(appearance_name) BETWEEN 1 AND 64),
    appearance_accent text CHECK (appearance_accent ~ '^#[0-9a-f]{6}$'),
    logo_hash text CHECK (logo_hash ~ '^[0-9a-f]{64}$'),
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz
);
CREATE INDEX tenants_by_age ON tenants (created_at, id);
CREATE INDEX tenants_by_name ON tenants (name_key, id);
CREATE INDEX tenants_by_deletion ON tenants (deleted_at) WHERE status = 'deleted';
CREATE INDEX tenants_with_inactivity ON tenants (id) WHERE inactivity_since IS NOT NULL;
CREATE UNIQUE INDEX tenants_external_id ON tenants (external_id) WHERE external_id IS NOT NULL;
SELECT protect('tenants', own => 'id = current_tenant()');
-- Some functions run as the owner of the schema and read across tenants: the CORS policy asks before it knows the
-- tenant, and row-level security would switch off the trigram indexes of a search. So the owner may read this table and
-- five more. No role that connects is the owner.
CREATE POLICY tenants_owner ON tenants FOR SELECT TO CURRENT_USER USING (true);

-- kind: system. One row, which stands for the platform. An INSERT of many rows takes the id of their tenant from a
-- table, so that Citus can hand it on: from `tenants`, or for the platform from here.
CREATE TABLE platform_anchor (id uuid PRIMARY KEY CHECK (id = '00000000-0000-0000-0000-000000000000'));
INSERT INTO platform_anchor VALUES ('00000000-0000-0000-0000-000000000000');
GRANT SELECT ON platform_anchor TO gatehouse_app;

-- kind: tenant. Every published policy stays; tenants.policy_version names the one in force.
CREATE TABLE policies (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    document jsonb NOT NULL,
    -- The name of who published it.
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, version)
);
SELECT protect('policies', rights => 'SELECT, INSERT');
CREATE POLICY policies_owner ON policies FOR SELECT TO CURRENT_USER USING (true);

-- The app's role cannot change a policy. Two functions remove a person from them when the person is purged.
-- This one removes the person's address from the block lists. words: spellings of the address.
CREATE FUNCTION policies_redact(tenant uuid, words text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    UPDATE policies AS p SET document = jsonb_set(p.document, '{blocked_emails}',
        (SELECT coalesce(jsonb_agg(email), '[]') FROM jsonb_array_elements_text(p.document->'blocked_emails') AS email
            WHERE email <> ALL (words)))
    WHERE p.tenant_id = tenant AND p.document->'blocked_emails' ?| words;
END $$;
-- This one removes the person's name from the policies that they published. A policy has only a name; the audit event
-- of the same moment tells whose it was.
CREATE FUNCTION policies_redact_author(tenant uuid, person uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    UPDATE policies AS p SET created_by = ''
    WHERE p.tenant_id = tenant AND p.created_by <> '' AND p.created_at IN (
        SELECT e.occurred_at FROM audit_events e
        WHERE e.tenant_id = tenant AND e.actor_type = 'user' AND e.actor_id = person::text
            AND e.action = 'policy.updated');
END $$;
GRANT EXECUTE ON FUNCTION policies_redact(uuid, text[]), policies_redact_author(uuid, uuid) TO gatehouse_app;

-- kind: tenant. The last dry run of a policy whose rule for unused accounts differs: what was tried (content) and
-- against which version. A policy that would suspend many users is published only after its dry run.
CREATE TABLE policy_trials (
    tenant_id uuid PRIMARY KEY,
    content bytea NOT NULL,
    version integer NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX policy_trials_by_end ON policy_trials (expires_at);
SELECT protect('policy_trials');

-- kind: tenant. Email domains that the tenant claims. Several tenants may claim one; directory_domains has the claim
-- that is verified.
CREATE TABLE domains (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    domain text NOT NULL,
    -- The domain as it is shown.
    display text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'verified')),
    include_subdomains boolean NOT NULL DEFAULT false,
    -- Who comes in by an address at the domain, in place of the policy's sign_up, and with which role. NULL: the policy
    -- decides.
    mode text CHECK (mode IN ('join', 'ask', 'invite_only')),
    role text CHECK (role IN ('member', 'manager')),
    -- What the DNS record has to contain.
    token text NOT NULL,
    method text CHECK (method IN ('dns', 'operator')),
    created_at timestamptz NOT NULL,
    verified_at timestamptz,
    -- The service looks up again a domain that DNS proved. check_at: when next. lost_at: since when the record is
    -- missing. changed_at: when the service itself last changed what is shown of the domain.
    check_at timestamptz,
    lost_at timestamptz,
    changed_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, domain)
);
CREATE INDEX domains_by_age ON domains (tenant_id, created_at, id);
CREATE INDEX domains_by_id ON domains ((id::text));
CREATE INDEX domains_to_check ON domains (coalesce(check_at, verified_at))
    WHERE status = 'verified' AND method = 'dns';
CREATE INDEX domains_unproved ON domains (domain) WHERE status = 'pending';
-- For the overview's count of what waits for an operator.
CREATE INDEX domains_without_proof ON domains (tenant_id, created_at, id)
    WHERE status = 'pending' OR lost_at IS NOT NULL;
SELECT protect('domains');
CREATE POLICY domains_owner ON domains FOR SELECT TO CURRENT_USER USING (true);

-- The tenants that claim one of the domains without proof, so that a refusal can say what was missing.
CREATE FUNCTION domain_claimants(wanted text[]) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT d.tenant_id FROM domains d WHERE d.domain = ANY (wanted) AND d.status = 'pending'
        ORDER BY d.created_at, d.tenant_id LIMIT 10;
END $$;
GRANT EXECUTE ON FUNCTION domain_claimants(text[]) TO gatehouse_app;

-- Whether a host is at or below a verified domain of the tenant. Only then is a wildcard origin or a bound host valid.
CREATE FUNCTION origin_wildcard_stands(tenant uuid, base text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM domains d WHERE d.tenant_id = tenant AND d.status = 'verified'
            AND (d.domain = base OR right(base, length(d.domain) + 1) = '.' || d.domain));
END $$;
