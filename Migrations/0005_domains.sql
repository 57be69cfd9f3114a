-- kind: tenant. Claims may coexist; directory_domains holds the one that is verified.
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
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, domain)
);

ALTER TABLE domains ENABLE ROW LEVEL SECURITY;
ALTER TABLE domains FORCE ROW LEVEL SECURITY;
CREATE POLICY domains_tenant ON domains USING (tenant_id = current_tenant());
CREATE POLICY domains_platform ON domains FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON domains TO gatehouse_app;
GRANT SELECT ON domains TO gatehouse_platform;
