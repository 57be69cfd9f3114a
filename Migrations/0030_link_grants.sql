-- kind: tenant. A one-time leave to add a sign-in to a user; only the token's hash is stored.
CREATE TABLE link_grants (
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
CREATE INDEX link_grants_by_user ON link_grants (tenant_id, user_id);

ALTER TABLE link_grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE link_grants FORCE ROW LEVEL SECURITY;
CREATE POLICY link_grants_tenant ON link_grants USING (tenant_id = current_tenant());
CREATE POLICY link_grants_platform ON link_grants FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON link_grants TO gatehouse_app;
GRANT SELECT ON link_grants TO gatehouse_platform;
