-- Newest first over every tenant, for the platform's audit list and its overview.
CREATE INDEX audit_events_everywhere ON audit_events (occurred_at, id);
CREATE INDEX decisions_everywhere ON decisions (created_at);
