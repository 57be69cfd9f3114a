-- For the overview's counts of what waits for an operator: of one tenant, and, where its own order does not serve, of
-- all tenants at once. A query over all tenants repeats the condition of its index.
CREATE INDEX api_keys_ending ON api_keys (tenant_id, expires_at)
    WHERE expires_at IS NOT NULL AND revoked_at IS NULL AND owner_deleted_at IS NULL;
CREATE INDEX api_keys_ending_everywhere ON api_keys (expires_at, tenant_id)
    WHERE expires_at > '-infinity' AND revoked_at IS NULL AND owner_deleted_at IS NULL;
CREATE INDEX domains_without_proof ON domains (tenant_id, created_at, id)
    WHERE status = 'pending' OR lost_at IS NOT NULL;
CREATE INDEX invites_undelivered ON invites (tenant_id, created_at, id) INCLUDE (expires_at)
    WHERE status = 'pending' AND delivery_status IN ('refused', 'bounced');
