-- An API key identifies a program. Its secret contains the locator of its tenant, so that a look-up asks one tenant.

-- kind: tenant. The platform's own keys have the nil tenant and the locator 000000. Only hashes of secrets are stored.
CREATE TABLE api_keys (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    -- As tenants.name_key.
    name_key text NOT NULL GENERATED ALWAYS AS (lower(name COLLATE "und-x-icu")) STORED,
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    note text,
    hash bytea NOT NULL,
    -- The beginning and the end of the secret, for people.
    prefix text NOT NULL,
    last4 text NOT NULL,
    -- After a rotation the former secret is good until previous_until.
    previous_hash bytea,
    previous_prefix text,
    previous_last4 text,
    previous_until timestamptz,
    previous_last_used_at timestamptz,
    previous_uses bigint NOT NULL DEFAULT 0,
    scopes text[] NOT NULL,
    owner_type text NOT NULL CHECK (owner_type IN ('user', 'tenant', 'platform')),
    owner_user_id uuid,
    -- Since when the owner is deleted. The key counts as revoked until the user is restored.
    owner_deleted_at timestamptz,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    -- The key is older than the rule that only an admin gives scopes which lead to an admin. The overview lists such
    -- keys until somebody has looked at them.
    given_before boolean NOT NULL DEFAULT false,
    rate_limit integer CHECK (rate_limit > 0),
    -- A key that a limited key made counts its uses together with its maker's: the key that has the count.
    limit_shared_with uuid,
    allowed_ips text[] NOT NULL DEFAULT '{}',
    allowed_origins text[] NOT NULL DEFAULT '{}',
    last_used_at timestamptz,
    last_used_ip text,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    revocation_reason text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, hash)
);
CREATE UNIQUE INDEX api_keys_previous ON api_keys (tenant_id, previous_hash) WHERE previous_hash IS NOT NULL;
CREATE INDEX api_keys_by_age ON api_keys (tenant_id, created_at, id);
CREATE INDEX api_keys_by_owner ON api_keys (tenant_id, owner_user_id, created_at, id)
    WHERE owner_user_id IS NOT NULL;
CREATE INDEX api_keys_by_name ON api_keys (tenant_id, name_key, id);
CREATE INDEX api_keys_by_id ON api_keys ((id::text));
CREATE INDEX api_keys_by_last_four ON api_keys (last4, tenant_id);
CREATE INDEX api_keys_live ON api_keys (tenant_id, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_revoked ON api_keys (tenant_id, created_at, id)
    WHERE revoked_at IS NOT NULL OR owner_deleted_at IS NOT NULL;
CREATE INDEX api_keys_by_revocation ON api_keys (tenant_id, revoked_at) WHERE revoked_at IS NOT NULL;
-- For the search: the trigrams, and a sample that is a walk of one index.
CREATE INDEX api_keys_name ON api_keys USING gin (tenant_id, name_key gin_trgm_ops);
CREATE INDEX api_keys_sample ON api_keys (tenant_id, id) INCLUDE (name_key);
-- The keys that a key made are revoked with it: in one tenant, and for a platform key in all.
CREATE INDEX api_keys_by_maker ON api_keys (created_by_id, tenant_id) WHERE created_by_type = 'key';
-- For the overview's counts of what waits for an operator, of one tenant and of all. A query over all tenants repeats
-- the condition of its index, and one of a tenant does not, so that neither uses the other's.
CREATE INDEX api_keys_ending ON api_keys (tenant_id, expires_at)
    WHERE expires_at IS NOT NULL AND revoked_at IS NULL AND owner_deleted_at IS NULL;
CREATE INDEX api_keys_ending_everywhere ON api_keys (expires_at, tenant_id)
    WHERE expires_at > '-infinity' AND revoked_at IS NULL AND owner_deleted_at IS NULL;
CREATE INDEX api_keys_given_before ON api_keys (tenant_id, created_at, id) WHERE given_before AND revoked_at IS NULL
    AND scopes && '{providers:write,clients:write,policy:write,operators:write,hooks:signup}'::text[];
SELECT protect('api_keys');
CREATE POLICY api_keys_owner ON api_keys FOR SELECT TO CURRENT_USER USING (true);

-- kind: tenant. How often each key was good, by the day.
CREATE TABLE api_key_uses (
    tenant_id uuid NOT NULL,
    key_id uuid NOT NULL,
    day timestamptz NOT NULL,
    uses bigint NOT NULL,
    PRIMARY KEY (tenant_id, key_id, day)
);
CREATE INDEX api_key_uses_by_day ON api_key_uses (day);
SELECT protect('api_key_uses');

-- kind: tenant. By the hour. good: how many requests for a verification found a good key. uses: uses of keys of any
-- kind.
CREATE TABLE verification_counts (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    good bigint NOT NULL,
    uses bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, hour)
);
CREATE INDEX verification_counts_by_hour ON verification_counts (hour);
SELECT protect('verification_counts');
