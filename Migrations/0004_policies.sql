-- kind: tenant. Every published policy stays; tenants.policy_version names the one in force.
CREATE TABLE policies (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    document jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, version)
);

ALTER TABLE policies ENABLE ROW LEVEL SECURITY;
ALTER TABLE policies FORCE ROW LEVEL SECURITY;
CREATE POLICY policies_tenant ON policies USING (tenant_id = current_tenant());
CREATE POLICY policies_platform ON policies FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT ON policies TO gatehouse_app;
GRANT SELECT ON policies TO gatehouse_platform;
