-- kind: tenant. Another address for a user, asked for and not proved yet: one for each user, only the
-- token's hash is stored.
CREATE TABLE email_changes (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX email_changes_by_end ON email_changes (expires_at);

ALTER TABLE email_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE email_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY email_changes_tenant ON email_changes USING (tenant_id = current_tenant());
CREATE POLICY email_changes_platform ON email_changes FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON email_changes TO gatehouse_app;
GRANT SELECT ON email_changes TO gatehouse_platform;

-- kind: tenant. Addresses that a user had: until expires_at nobody else of the tenant gets one.
CREATE TABLE former_addresses (
    tenant_id uuid NOT NULL,
    email_key text NOT NULL,
    user_id uuid NOT NULL,
    email text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, email_key),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX former_addresses_by_user ON former_addresses (tenant_id, user_id);
CREATE INDEX former_addresses_by_end ON former_addresses (expires_at);

ALTER TABLE former_addresses ENABLE ROW LEVEL SECURITY;
ALTER TABLE former_addresses FORCE ROW LEVEL SECURITY;
CREATE POLICY former_addresses_tenant ON former_addresses USING (tenant_id = current_tenant());
CREATE POLICY former_addresses_platform ON former_addresses
    FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON former_addresses TO gatehouse_app;
GRANT SELECT ON former_addresses TO gatehouse_platform;
