-- kind: tenant. Sign-ins that an operator unlinked: each stays out of the tenant until it is brought
-- back, or until the user is purged.
CREATE TABLE barred_identities (
    tenant_id uuid NOT NULL,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL,
    barred_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, provider, issuer, subject),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX barred_identities_by_user ON barred_identities (tenant_id, user_id);

ALTER TABLE barred_identities ENABLE ROW LEVEL SECURITY;
ALTER TABLE barred_identities FORCE ROW LEVEL SECURITY;
CREATE POLICY barred_identities_tenant ON barred_identities USING (tenant_id = current_tenant());
CREATE POLICY barred_identities_platform ON barred_identities FOR SELECT TO gatehouse_platform
    USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON barred_identities TO gatehouse_app;
GRANT SELECT ON barred_identities TO gatehouse_platform;
