-- kind: tenant. How often each key was good, by the day; the platform's keys under the nil tenant.
CREATE TABLE api_key_uses (
    tenant_id uuid NOT NULL,
    key_id uuid NOT NULL,
    day timestamptz NOT NULL,
    uses bigint NOT NULL,
    PRIMARY KEY (tenant_id, key_id, day)
);
CREATE INDEX api_key_uses_by_day ON api_key_uses (day);

ALTER TABLE api_key_uses ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_key_uses FORCE ROW LEVEL SECURITY;
CREATE POLICY api_key_uses_tenant ON api_key_uses USING (tenant_id = current_tenant());
CREATE POLICY api_key_uses_platform ON api_key_uses FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON api_key_uses TO gatehouse_app;
GRANT SELECT ON api_key_uses TO gatehouse_platform;
