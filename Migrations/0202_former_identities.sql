-- kind: tenant. Identities that a user had once: a purge finds by them what the audit says of them.
-- Written by a trigger, so that no way of unlinking is forgotten; gone with the user.
CREATE TABLE former_identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX former_identities_by_user ON former_identities (tenant_id, user_id);

ALTER TABLE former_identities ENABLE ROW LEVEL SECURITY;
ALTER TABLE former_identities FORCE ROW LEVEL SECURITY;
CREATE POLICY former_identities_tenant ON former_identities USING (tenant_id = current_tenant());
CREATE POLICY former_identities_platform ON former_identities
    FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON former_identities TO gatehouse_app;
GRANT SELECT ON former_identities TO gatehouse_platform;

-- Where the user's own row falls, the identity falls with it, and nothing has to be found any more.
CREATE FUNCTION former_identity_put() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO former_identities (tenant_id, id, user_id)
        SELECT u.tenant_id, OLD.id, u.id FROM users u
        WHERE u.tenant_id = OLD.tenant_id AND u.id = OLD.user_id
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER former_identity AFTER DELETE ON identities
    FOR EACH ROW EXECUTE FUNCTION former_identity_put();
