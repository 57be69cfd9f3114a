-- kind: tenant. How often keys were found good, by the hour; the platform's keys under the nil tenant.
CREATE TABLE verification_counts (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    good bigint NOT NULL,
    PRIMARY KEY (tenant_id, hour)
);

ALTER TABLE verification_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE verification_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY verification_counts_tenant ON verification_counts
    USING (tenant_id = current_tenant());
CREATE POLICY verification_counts_platform ON verification_counts
    FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON verification_counts TO gatehouse_app;
GRANT SELECT ON verification_counts TO gatehouse_platform;
