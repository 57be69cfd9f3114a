-- kind: system. tenant_id null: the platform's own.
CREATE TABLE providers (
    id uuid PRIMARY KEY,
    tenant_id uuid,
    kind text NOT NULL CHECK (kind IN ('oidc', 'google', 'github', 'cognito', 'password')),
    name text NOT NULL,
    issuer text NOT NULL,
    document jsonb NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX providers_one_per_owner
    ON providers (kind, issuer, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));
CREATE UNIQUE INDEX providers_one_pool ON providers (issuer) WHERE kind = 'cognito';
GRANT SELECT, INSERT, UPDATE, DELETE ON providers TO gatehouse_app;
