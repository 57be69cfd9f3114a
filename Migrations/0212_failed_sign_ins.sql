-- kind: tenant. Sign-ins at a client contract that failed before the rules were asked: no decision
-- tells of them, and the person is told nothing. Names no person.
CREATE TABLE failed_sign_ins (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    client text NOT NULL,
    operation text NOT NULL,
    reason text NOT NULL,
    request_id text NOT NULL,
    ip text,
    user_agent text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX failed_sign_ins_by_time ON failed_sign_ins (tenant_id, created_at DESC, id DESC);
CREATE INDEX failed_sign_ins_by_end ON failed_sign_ins (created_at);

ALTER TABLE failed_sign_ins ENABLE ROW LEVEL SECURITY;
ALTER TABLE failed_sign_ins FORCE ROW LEVEL SECURITY;
CREATE POLICY failed_sign_ins_tenant ON failed_sign_ins USING (tenant_id = current_tenant());
CREATE POLICY failed_sign_ins_platform ON failed_sign_ins FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON failed_sign_ins TO gatehouse_app;
GRANT SELECT ON failed_sign_ins TO gatehouse_platform;
