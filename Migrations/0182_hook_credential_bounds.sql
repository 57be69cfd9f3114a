-- A hook credential that a key made reaches no further than that key did.
ALTER TABLE hook_credentials
    ADD COLUMN created_by_type text NOT NULL DEFAULT '',
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN allowed_ips text[] NOT NULL DEFAULT '{}',
    ADD COLUMN allowed_origins text[] NOT NULL DEFAULT '{}',
    ADD COLUMN rate_limit integer CHECK (rate_limit > 0),
    ADD COLUMN limit_shared_with uuid;
CREATE INDEX hook_credentials_by_maker ON hook_credentials (created_by)
    WHERE created_by_type = 'key';
