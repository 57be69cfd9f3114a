-- kind: tenant. What an app keeps of its own about a person, by the app's names: a colour, whether its
-- introduction was seen. No rule reads it.
CREATE TABLE client_profiles (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    client text NOT NULL,
    document jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, client),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

ALTER TABLE client_profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE client_profiles FORCE ROW LEVEL SECURITY;
CREATE POLICY client_profiles_tenant ON client_profiles USING (tenant_id = current_tenant());
CREATE POLICY client_profiles_platform ON client_profiles FOR SELECT TO gatehouse_platform
    USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON client_profiles TO gatehouse_app;
GRANT SELECT ON client_profiles TO gatehouse_platform;
