-- kind: tenant. The platform's own keys have the nil tenant and the locator 000000.
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
    -- ICU lowers the letters of every script; the locale of the database may know only ASCII.
    name_key text NOT NULL GENERATED ALWAYS AS (lower(name COLLATE "und-x-icu")) STORED,
    -- A key that a limited key made counts its uses together with its maker's: the key that holds the count.
    limit_shared_with uuid,
    -- Since when the owner of the key is deleted: the key counts as revoked until the user is restored.
    owner_deleted_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, hash)
);
CREATE UNIQUE INDEX api_keys_previous ON api_keys (tenant_id, previous_hash)
    WHERE previous_hash IS NOT NULL;
CREATE INDEX api_keys_by_age ON api_keys (tenant_id, created_at, id);
CREATE INDEX api_keys_by_owner ON api_keys (tenant_id, owner_user_id, created_at, id)
    WHERE owner_user_id IS NOT NULL;
CREATE INDEX api_keys_by_name ON api_keys (tenant_id, name_key, id);
-- For the search: the trigrams, and a sample that is a walk of one index.
CREATE INDEX api_keys_name ON api_keys USING gin (tenant_id, name_key gin_trgm_ops);
CREATE INDEX api_keys_sample ON api_keys (tenant_id, id) INCLUDE (name_key);
-- The keys that a key made are revoked with it: in one tenant, and for a platform key in all.
CREATE INDEX api_keys_by_maker ON api_keys (created_by_id, tenant_id) WHERE created_by_type = 'key';
-- For the list of revoked keys.
CREATE INDEX api_keys_revoked ON api_keys (tenant_id, created_at, id)
    WHERE revoked_at IS NOT NULL OR owner_deleted_at IS NOT NULL;
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

-- kind: tenant. By the hour. good: requested verifications that found a key good; uses: uses of keys of any
-- kind.
CREATE TABLE verification_counts (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    good bigint NOT NULL,
    uses bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, hour)
);
SELECT protect('verification_counts');
