-- The id of a user in the customer's own system. Compared as bytes; one live user of a tenant for each.
ALTER TABLE users ADD COLUMN external_id text COLLATE "C" CHECK (octet_length(external_id) BETWEEN 1 AND 255);
CREATE UNIQUE INDEX users_live_external_id ON users (tenant_id, external_id)
    WHERE external_id IS NOT NULL AND status <> 'deleted';
CREATE INDEX users_deleted_external_id ON users (tenant_id, external_id)
    WHERE external_id IS NOT NULL AND status = 'deleted';
