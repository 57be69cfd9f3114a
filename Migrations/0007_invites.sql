-- kind: tenant. The clock tells whether an invite has expired: there is no such status. A live invite is a
-- pending one before its end.
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
    -- When the invite was last sent; NULL: at its creation.
    sent_at timestamptz,
    -- The principal that set the present role, if not the inviter: when the invite is used, the role is bounded
    -- by what this principal may still give.
    role_by_type text,
    role_by_id text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash)
);
CREATE UNIQUE INDEX invites_one_pending ON invites (tenant_id, email_key) WHERE status = 'pending';
CREATE INDEX invites_by_age ON invites (tenant_id, created_at, id);
CREATE INDEX invites_by_status ON invites (tenant_id, status, created_at, id);
CREATE INDEX invites_by_email ON invites (tenant_id, email_key, id);
CREATE INDEX invites_by_status_email ON invites (tenant_id, status, email_key, id);
-- For the search: the trigrams, and a sample that is a walk of one index.
CREATE INDEX invites_address ON invites USING gin (tenant_id, email_key gin_trgm_ops);
CREATE INDEX invites_sample ON invites (tenant_id, id) INCLUDE (email_key);
-- For the list of live invites.
CREATE INDEX invites_live ON invites (tenant_id, created_at, id) INCLUDE (expires_at)
    WHERE status = 'pending';
-- For the purge of a user.
CREATE INDEX invites_by_accepter ON invites (tenant_id, accepted_user_id)
    WHERE accepted_user_id IS NOT NULL;
CREATE INDEX invites_by_inviting_user ON invites (tenant_id, inviter_id) WHERE inviter_type = 'user';
SELECT protect('invites');
CREATE POLICY invites_owner ON invites FOR SELECT TO CURRENT_USER USING (true);
