-- kind: tenant. A sign-in that was begun and not ended, for ten minutes, used up by one DELETE.
-- secrets: the PKCE verifier where the server holds it, sealed; challenge: where the client does.
CREATE TABLE login_states (
    tenant_id uuid NOT NULL,
    state_hash bytea NOT NULL,
    client text NOT NULL,
    provider_id uuid NOT NULL,
    redirect_uri text NOT NULL,
    nonce text NOT NULL,
    challenge text,
    secrets bytea,
    device text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, state_hash)
);
CREATE INDEX login_states_by_end ON login_states (tenant_id, expires_at);

ALTER TABLE login_states ENABLE ROW LEVEL SECURITY;
ALTER TABLE login_states FORCE ROW LEVEL SECURITY;
CREATE POLICY login_states_tenant ON login_states USING (tenant_id = current_tenant());
CREATE POLICY login_states_platform ON login_states FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON login_states TO gatehouse_app;
GRANT SELECT ON login_states TO gatehouse_platform;
