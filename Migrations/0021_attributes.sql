-- A customer's own facts about a user, each one JSON object without white space: text, so that numbers and the order
-- of members stay as written. No rule reads them.
ALTER TABLE users
    ADD COLUMN public_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(public_attributes) <= 16384),
    ADD COLUMN private_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(private_attributes) <= 16384);

-- kind: tenant. What a tenant says of its users' attributes, by their names. ready: the names by which lists filter;
-- a name that is indexed anew counts after all users of before were read. indexed_to: the last of them that was read
-- so far; NULL: all were.
CREATE TABLE attribute_schemas (
    tenant_id uuid PRIMARY KEY,
    document text NOT NULL,
    version bigint NOT NULL,
    ready text[] NOT NULL DEFAULT '{}',
    indexed_to uuid,
    updated_at timestamptz NOT NULL
);
CREATE INDEX attribute_schemas_unread ON attribute_schemas (tenant_id) WHERE indexed_to IS NOT NULL;

-- kind: tenant. The indexed attributes of users. Values are compared as bytes; created_at: the user's, since lists
-- are ordered by it.
CREATE TABLE user_attributes (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL CHECK (octet_length(value) <= 255),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, name),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX user_attributes_by_value ON user_attributes (tenant_id, name, value, created_at, user_id);

ALTER TABLE attribute_schemas ENABLE ROW LEVEL SECURITY;
ALTER TABLE attribute_schemas FORCE ROW LEVEL SECURITY;
CREATE POLICY attribute_schemas_tenant ON attribute_schemas USING (tenant_id = current_tenant());
CREATE POLICY attribute_schemas_platform ON attribute_schemas FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON attribute_schemas TO gatehouse_app;
GRANT SELECT ON attribute_schemas TO gatehouse_platform;
ALTER TABLE user_attributes ENABLE ROW LEVEL SECURITY;
ALTER TABLE user_attributes FORCE ROW LEVEL SECURITY;
CREATE POLICY user_attributes_tenant ON user_attributes USING (tenant_id = current_tenant());
CREATE POLICY user_attributes_platform ON user_attributes FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON user_attributes TO gatehouse_app;
GRANT SELECT ON user_attributes TO gatehouse_platform;

-- The same of tenants, and the id of a tenant in the platform's own system: one tenant for each, until it is purged.
ALTER TABLE tenants
    ADD COLUMN external_id text COLLATE "C" CHECK (octet_length(external_id) BETWEEN 1 AND 255),
    ADD COLUMN public_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(public_attributes) <= 16384),
    ADD COLUMN private_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(private_attributes) <= 16384);
CREATE UNIQUE INDEX tenants_external_id ON tenants (external_id) WHERE external_id IS NOT NULL;

-- The id that the user gets who accepts the invite; until then the row that the invite made has it.
ALTER TABLE invites ADD COLUMN external_id text COLLATE "C" CHECK (octet_length(external_id) BETWEEN 1 AND 255);
CREATE INDEX invites_by_external_id ON invites (tenant_id, external_id, created_at, id) WHERE external_id IS NOT NULL;
