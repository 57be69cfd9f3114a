-- outside a transaction
-- Whether anything of any tenant has or had an id: audit events stay when their targets go. The condition keeps the
-- plans of one tenant's list away from the index, as with audit_events_everywhere.
DROP INDEX CONCURRENTLY IF EXISTS audit_events_by_target_alone
-- then
CREATE INDEX CONCURRENTLY audit_events_by_target_alone ON audit_events (target_id) WHERE occurred_at > '-infinity'
