-- kind: tenant, append-only for the app role; a decision without a tenant stands under the nil one.
CREATE TABLE decisions (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    outcome text NOT NULL,
    reason text,
    reference text NOT NULL,
    email text,
    email_key text,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid,
    identity_id uuid,
    invite_id uuid,
    policy_version integer,
    trace jsonb NOT NULL,
    duration_ms double precision NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX decisions_by_age ON decisions (tenant_id, created_at, id);
CREATE INDEX decisions_by_email ON decisions (tenant_id, email_key, created_at);

ALTER TABLE decisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE decisions FORCE ROW LEVEL SECURITY;
CREATE POLICY decisions_tenant ON decisions USING (tenant_id = current_tenant());
CREATE POLICY decisions_platform ON decisions FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT ON decisions TO gatehouse_app;
GRANT SELECT ON decisions TO gatehouse_platform;
