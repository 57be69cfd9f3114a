-- kind: tenant. A one-time leave to set a user's password; only the token's hash is stored.
CREATE TABLE password_resets (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX password_resets_by_user ON password_resets (tenant_id, user_id);

ALTER TABLE password_resets ENABLE ROW LEVEL SECURITY;
ALTER TABLE password_resets FORCE ROW LEVEL SECURITY;
CREATE POLICY password_resets_tenant ON password_resets USING (tenant_id = current_tenant());
CREATE POLICY password_resets_platform ON password_resets
    FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON password_resets TO gatehouse_app;
GRANT SELECT ON password_resets TO gatehouse_platform;
