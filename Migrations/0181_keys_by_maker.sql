-- The keys that a key made, to be revoked with it: in one tenant, and for a platform key in all.
CREATE INDEX api_keys_by_maker ON api_keys (created_by_id, tenant_id) WHERE created_by_type = 'key';
