-- What orders the rows of all tenants must not serve one tenant's list: a plan that does not know
-- the tenant took it for the quicker way, and for a small tenant beside a large one walked all rows
-- of the large. A query over all tenants says what the index asks for; one of a tenant does not.
DROP INDEX audit_events_everywhere;
CREATE INDEX audit_events_everywhere ON audit_events (occurred_at, id)
    WHERE occurred_at > '-infinity';
DROP INDEX decisions_everywhere;
CREATE INDEX decisions_everywhere ON decisions (created_at, id) WHERE created_at > '-infinity';
