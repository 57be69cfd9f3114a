-- kind: system. Who signs in to the console; tenant_id null: at the platform.
CREATE TABLE operators (
    id uuid PRIMARY KEY,
    email text NOT NULL,
    email_key text NOT NULL UNIQUE,
    name text,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'support', 'auditor')),
    tenant_id uuid,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('pending', 'active', 'suspended')),
    password_hash text,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_sign_in_at timestamptz
);
CREATE INDEX operators_by_age ON operators (created_at, id);
GRANT SELECT, INSERT, UPDATE, DELETE ON operators TO gatehouse_app;
