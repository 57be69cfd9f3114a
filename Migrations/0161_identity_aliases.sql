-- kind: tenant. The `sub`s that a pool gave to a person, beside the name or the upstream's subject that
-- is the identity's key. A native name has one at most: another `sub` is another person.
CREATE TABLE identity_aliases (
    tenant_id uuid NOT NULL,
    pool text NOT NULL,
    alias text NOT NULL,
    identity_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, pool, alias),
    FOREIGN KEY (tenant_id, identity_id) REFERENCES identities (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX identity_aliases_by_identity ON identity_aliases (tenant_id, identity_id, created_at);

ALTER TABLE identity_aliases ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity_aliases FORCE ROW LEVEL SECURITY;
CREATE POLICY identity_aliases_tenant ON identity_aliases USING (tenant_id = current_tenant());
CREATE POLICY identity_aliases_platform ON identity_aliases FOR SELECT TO gatehouse_platform
    USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON identity_aliases TO gatehouse_app;
GRANT SELECT ON identity_aliases TO gatehouse_platform;

-- Nothing is released: the old column's values are not carried over. The number is shown in lists.
ALTER TABLE identities DROP COLUMN alias, ADD COLUMN alias_count integer NOT NULL DEFAULT 0;
