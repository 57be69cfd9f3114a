-- What ends by itself is found by its end, so that a sweep reads no more than it removes.
CREATE INDEX operator_sessions_by_end ON operator_sessions (expires_at);
CREATE INDEX operator_links_by_end ON operator_links (expires_at);
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);
CREATE INDEX pending_choices_by_end ON pending_choices (expires_at);
CREATE INDEX reservations_by_end ON reservations (expires_at);
CREATE INDEX provisioning_attempts_by_age ON provisioning_attempts (at);
CREATE INDEX sessions_by_end ON sessions (expires_at);
CREATE INDEX link_grants_by_end ON link_grants (expires_at);
