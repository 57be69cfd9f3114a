-- kind: tenant. Where a user's password was right before: such a device counts its own failures,
-- so that strangers who guess cannot lock the owner out. key: an HMAC, so that a dump names nobody.
CREATE TABLE known_devices (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    key bytea NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, key),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

ALTER TABLE known_devices ENABLE ROW LEVEL SECURITY;
ALTER TABLE known_devices FORCE ROW LEVEL SECURITY;
CREATE POLICY known_devices_tenant ON known_devices USING (tenant_id = current_tenant());
CREATE POLICY known_devices_platform ON known_devices FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON known_devices TO gatehouse_app;
GRANT SELECT ON known_devices TO gatehouse_platform;
