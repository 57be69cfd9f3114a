-- kind: tenant. A deleted row keeps its email key, so that the newcomer on a recycled address is
-- recognised; one live row for an address.
CREATE TABLE users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    name text,
    role text NOT NULL CHECK (role IN ('member', 'manager', 'admin')),
    status text NOT NULL CHECK (status IN ('pending', 'active', 'suspended', 'deleted')),
    source text NOT NULL CHECK (source IN ('invite', 'operator', 'import', 'sign_up', 'approval')),
    email_verified_at timestamptz,
    password_hash text,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_sign_in_at timestamptz,
    deleted_at timestamptz,
    status_before text,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX users_live_email ON users (tenant_id, email_key) WHERE status <> 'deleted';
CREATE INDEX users_deleted_email ON users (tenant_id, email_key) WHERE status = 'deleted';
CREATE INDEX users_by_age ON users (tenant_id, created_at, id);
CREATE INDEX users_by_email ON users (tenant_id, email_key, id);
CREATE INDEX users_by_status ON users (tenant_id, status, created_at, id);
CREATE INDEX users_by_role ON users (tenant_id, role, created_at, id);

ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE users FORCE ROW LEVEL SECURITY;
CREATE POLICY users_tenant ON users USING (tenant_id = current_tenant());
CREATE POLICY users_platform ON users FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON users TO gatehouse_app;
GRANT SELECT ON users TO gatehouse_platform;
