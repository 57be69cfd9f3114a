-- kind: tenant. (provider, issuer, subject) is the key of a person's sign-in, never the email.
CREATE TABLE identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    email text,
    email_verified boolean NOT NULL DEFAULT false,
    alias text,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, provider, issuer, subject),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX identities_by_user ON identities (tenant_id, user_id);
CREATE INDEX identities_by_alias ON identities (tenant_id, provider, issuer, alias)
    WHERE alias IS NOT NULL;

ALTER TABLE identities ENABLE ROW LEVEL SECURITY;
ALTER TABLE identities FORCE ROW LEVEL SECURITY;
CREATE POLICY identities_tenant ON identities USING (tenant_id = current_tenant());
CREATE POLICY identities_platform ON identities FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON identities TO gatehouse_app;
GRANT SELECT ON identities TO gatehouse_platform;
