-- A name that many events have is counted by its index alone.
DROP INDEX audit_events_by_actor_name;
CREATE INDEX audit_events_by_actor_name ON audit_events (tenant_id, actor_name, occurred_at, id)
    INCLUDE (actor_id);
DROP INDEX audit_events_by_target_name;
CREATE INDEX audit_events_by_target_name ON audit_events (tenant_id, target_name, occurred_at, id)
    INCLUDE (target_id);
