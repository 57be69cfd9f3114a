-- kind: tenant. A decision names its request, and is found by the reference that the person was told;
-- an audit row names the decision by which it was done.
ALTER TABLE decisions ADD COLUMN request_id text;
CREATE INDEX decisions_by_reference ON decisions (tenant_id, reference);
CREATE INDEX decisions_by_user ON decisions (tenant_id, user_id, created_at, id)
    WHERE user_id IS NOT NULL;
ALTER TABLE audit_events ADD COLUMN decision_id uuid;
