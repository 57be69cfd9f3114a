-- Since when the key's owner is deleted: it counts as revoked until the user is restored.
ALTER TABLE api_keys ADD COLUMN owner_deleted_at timestamptz;
DROP INDEX api_keys_revoked;
CREATE INDEX api_keys_revoked ON api_keys (tenant_id, created_at, id)
    WHERE revoked_at IS NOT NULL OR owner_deleted_at IS NOT NULL;
