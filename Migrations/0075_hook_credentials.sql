-- kind: system. Signs calls of the Lambda Invoke API for one provider. The secret is sealed rather
-- than hashed: a signature is checked by making it again.
CREATE TABLE hook_credentials (
    id uuid PRIMARY KEY,
    provider_id uuid NOT NULL REFERENCES providers (id) ON DELETE CASCADE,
    name text,
    sealed bytea NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX hook_credentials_by_provider ON hook_credentials (provider_id, created_at, id);
GRANT SELECT, INSERT, DELETE ON hook_credentials TO gatehouse_app;
