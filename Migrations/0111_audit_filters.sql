-- Whatever the audit list is narrowed to, it walks an index of its own order.
CREATE INDEX audit_events_by_actor_name ON audit_events (tenant_id, actor_name, occurred_at, id);
CREATE INDEX audit_events_by_target_name ON audit_events (tenant_id, target_name, occurred_at, id);
CREATE INDEX audit_events_by_action ON audit_events (tenant_id, action, occurred_at, id);
