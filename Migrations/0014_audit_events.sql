-- kind: tenant, append-only for the app role. Platform events stand under the nil tenant.
CREATE TABLE audit_events (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    seq bigint,
    occurred_at timestamptz NOT NULL,
    actor_type text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    action text NOT NULL,
    target_type text NOT NULL,
    target_id text NOT NULL,
    target_name text NOT NULL,
    request_id text NOT NULL,
    ip text,
    changes jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX audit_events_by_age ON audit_events (tenant_id, occurred_at, id);
CREATE INDEX audit_events_by_target ON audit_events (tenant_id, target_id, occurred_at, id);

ALTER TABLE audit_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_events FORCE ROW LEVEL SECURITY;
CREATE POLICY audit_events_tenant ON audit_events USING (tenant_id = current_tenant());
CREATE POLICY audit_events_platform ON audit_events FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT ON audit_events TO gatehouse_app;
GRANT SELECT ON audit_events TO gatehouse_platform;
