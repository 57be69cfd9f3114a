-- kind: tenant. What stays of a person who was purged, for 30 days: HMACs of the address and of each
-- identity, by which they are refused. person: random, made by the purge, the same for all of one
-- person's, so that they end together.
CREATE TABLE tombstones (
    tenant_id uuid NOT NULL,
    key bytea NOT NULL,
    person uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX tombstones_by_end ON tombstones (expires_at);
CREATE INDEX tombstones_by_person ON tombstones (tenant_id, person);

ALTER TABLE tombstones ENABLE ROW LEVEL SECURITY;
ALTER TABLE tombstones FORCE ROW LEVEL SECURITY;
CREATE POLICY tombstones_tenant ON tombstones USING (tenant_id = current_tenant());
CREATE POLICY tombstones_platform ON tombstones FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON tombstones TO gatehouse_app;
GRANT SELECT ON tombstones TO gatehouse_platform;
