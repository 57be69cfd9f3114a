-- kind: tenant (its own id is the tenant). The nil UUID stands for the platform in tenant tables.
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
    deleted_at timestamptz
);
CREATE INDEX tenants_by_age ON tenants (created_at, id);

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_tenant ON tenants USING (id = current_tenant());
CREATE POLICY tenants_platform ON tenants FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON tenants TO gatehouse_app;
GRANT SELECT ON tenants TO gatehouse_platform;
