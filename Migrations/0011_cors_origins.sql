-- kind: tenant. The platform's rows stand under the nil tenant.
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

ALTER TABLE cors_origins ENABLE ROW LEVEL SECURITY;
ALTER TABLE cors_origins FORCE ROW LEVEL SECURITY;
CREATE POLICY cors_origins_tenant ON cors_origins USING (tenant_id = current_tenant());
CREATE POLICY cors_origins_platform ON cors_origins FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON cors_origins TO gatehouse_app;
GRANT SELECT ON cors_origins TO gatehouse_platform;
