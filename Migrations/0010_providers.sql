-- A provider proves who a person is: an OpenID provider, a Cognito pool, or the password. A client is an app whose
-- sign-in contract Gatehouse serves.

-- kind: system. tenant_id NULL: the platform's own.
CREATE TABLE providers (
    id uuid PRIMARY KEY,
    tenant_id uuid,
    kind text NOT NULL CHECK (kind IN ('oidc', 'google', 'github', 'cognito', 'password')),
    name text NOT NULL,
    issuer text NOT NULL,
    document jsonb NOT NULL,
    -- The client's secret at the provider, sealed with the provider's id as context.
    secret bytea,
    -- A tenant cannot prove that a pool is its own. Until the platform confirms the row, it counts only for the
    -- credentials of that tenant, so that a tenant that registers a pool first catches no users of another.
    confirmed boolean NOT NULL DEFAULT true,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX providers_one_per_owner
    ON providers (kind, issuer, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));
-- The id of a pool is unique among confirmed providers: an unproved claim keeps no other tenant out.
CREATE UNIQUE INDEX providers_one_pool ON providers (issuer) WHERE kind = 'cognito' AND confirmed;
CREATE INDEX providers_by_issuer ON providers (issuer);
CREATE INDEX providers_by_age ON providers (created_at, id);
CREATE INDEX providers_by_tenant ON providers (tenant_id, created_at, id);
GRANT SELECT, INSERT, UPDATE, DELETE ON providers TO gatehouse_app;

-- kind: system. Credentials that sign calls of the Lambda Invoke API for one provider. The secret is sealed, not
-- hashed: to check a signature, the service computes it again.
CREATE TABLE hook_credentials (
    id uuid PRIMARY KEY,
    provider_id uuid NOT NULL REFERENCES providers (id) ON DELETE CASCADE,
    name text,
    sealed bytea NOT NULL,
    created_by text NOT NULL,
    created_by_type text NOT NULL DEFAULT '',
    -- A credential that a key made reaches no further than that key did.
    allowed_ips text[] NOT NULL DEFAULT '{}',
    allowed_origins text[] NOT NULL DEFAULT '{}',
    rate_limit integer CHECK (rate_limit > 0),
    limit_shared_with uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz
);
CREATE INDEX hook_credentials_by_provider ON hook_credentials (provider_id, created_at, id);
CREATE INDEX hook_credentials_by_maker ON hook_credentials (created_by) WHERE created_by_type = 'key';
GRANT SELECT, INSERT, DELETE ON hook_credentials TO gatehouse_app;

-- kind: system. The upstream providers of a pool that its events have shown, by the tenant whose credentials sent the
-- events (nil: the platform). A native user name that begins with one of them is refused.
CREATE TABLE shown_upstreams (
    provider_id uuid NOT NULL REFERENCES providers (id) ON DELETE CASCADE,
    tenant_id uuid NOT NULL,
    names text[] NOT NULL,
    PRIMARY KEY (provider_id, tenant_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON shown_upstreams TO gatehouse_app;

-- kind: tenant. A client contract that the tenant uses. A host is unique in the whole server, so directory_hosts
-- decides; here it stands beside the client for reading.
CREATE TABLE clients (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    enabled boolean NOT NULL,
    hosts text[] NOT NULL DEFAULT '{}',
    redirect_uris text[] NOT NULL DEFAULT '{}',
    settings jsonb NOT NULL DEFAULT '{}',
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
CREATE INDEX clients_naming_provider ON clients (tenant_id, (settings->>'provider'))
    WHERE enabled AND settings->>'provider' IS NOT NULL;
SELECT protect('clients');

-- kind: system. The sealed secret that a provider gave to a tenant's own client. It is of the kind `system`, like the
-- secrets of providers, because a replacement of the secret key seals all of them again.
CREATE TABLE client_secrets (
    tenant_id uuid NOT NULL,
    client text NOT NULL,
    -- Part of the seal's context: a value opens only in its own row.
    id uuid NOT NULL UNIQUE,
    sealed bytea NOT NULL,
    -- What the secret is sent to: provider, issuer, endpoints and client id. If any of it has changed since, the secret
    -- is no longer sent.
    audience bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, client)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON client_secrets TO gatehouse_app;
