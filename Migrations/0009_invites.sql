-- kind: tenant. `expired` is derived from the clock; a live invite is a pending one before its end.
CREATE TABLE invites (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    role text NOT NULL CHECK (role IN ('member', 'manager', 'admin')),
    message text,
    delivery text NOT NULL CHECK (delivery IN ('mail', 'link')),
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'revoked')),
    token_hash bytea NOT NULL,
    user_id uuid,
    inviter_type text NOT NULL,
    inviter_id text NOT NULL,
    inviter_name text NOT NULL,
    external boolean NOT NULL DEFAULT false,
    sent_count integer NOT NULL DEFAULT 1,
    expires_at timestamptz NOT NULL,
    accepted_at timestamptz,
    accepted_user_id uuid,
    accepted_identity_id uuid,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash)
);
CREATE UNIQUE INDEX invites_one_pending ON invites (tenant_id, email_key) WHERE status = 'pending';
CREATE INDEX invites_by_age ON invites (tenant_id, created_at, id);
CREATE INDEX invites_by_status ON invites (tenant_id, status, created_at, id);
CREATE INDEX invites_by_email ON invites (tenant_id, email_key);

ALTER TABLE invites ENABLE ROW LEVEL SECURITY;
ALTER TABLE invites FORCE ROW LEVEL SECURITY;
CREATE POLICY invites_tenant ON invites USING (tenant_id = current_tenant());
CREATE POLICY invites_platform ON invites FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON invites TO gatehouse_app;
GRANT SELECT ON invites TO gatehouse_platform;
