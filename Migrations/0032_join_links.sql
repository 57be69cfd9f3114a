-- kind: tenant. Links by which many people join as members. The clock tells whether a link has expired, and its
-- uses whether it is used up. maker: whose right to invite is asked again at each use.
CREATE TABLE join_links (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    domains text[] NOT NULL DEFAULT '{}',
    max_uses integer NOT NULL CHECK (max_uses BETWEEN 1 AND 10000),
    uses integer NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
    return_to text,
    maker_type text NOT NULL,
    maker_id text NOT NULL,
    maker_name text NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash)
);
CREATE INDEX join_links_by_age ON join_links (tenant_id, created_at, id);
-- For the limit of live links.
CREATE INDEX join_links_live ON join_links (tenant_id, expires_at) WHERE revoked_at IS NULL;
-- For the purge of a user.
CREATE INDEX join_links_by_maker ON join_links (tenant_id, maker_id) WHERE maker_type = 'user';
ALTER TABLE join_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE join_links FORCE ROW LEVEL SECURITY;
CREATE POLICY join_links_tenant ON join_links USING (tenant_id = current_tenant());
CREATE POLICY join_links_platform ON join_links FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON join_links TO gatehouse_app;
GRANT SELECT ON join_links TO gatehouse_platform;

-- The link that let the user in.
ALTER TABLE users ADD COLUMN join_link_id uuid;
ALTER TABLE users DROP CONSTRAINT users_source_check;
ALTER TABLE users ADD CONSTRAINT users_source_check
    CHECK (source IN ('invite', 'operator', 'import', 'sign_up', 'approval', 'join_link'));

-- The link whose token a sign-up brought, and that of a sign-in which was begun on the link's page.
ALTER TABLE reservations ADD COLUMN join_link_id uuid;
ALTER TABLE login_states ADD COLUMN join_hash bytea;

-- Where the page of an invite or of a reset leads in the end: an address of one of the tenant's clients.
ALTER TABLE invites ADD COLUMN return_to text;
ALTER TABLE password_resets ADD COLUMN return_to text;
ALTER TABLE reset_asks ADD COLUMN return_to text;
