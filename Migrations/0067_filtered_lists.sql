-- The count of a filtered list looks at an index alone, never at 10,000 rows.
DROP INDEX users_by_role;
CREATE INDEX users_by_role ON users (tenant_id, role, created_at, id) INCLUDE (status);
DROP INDEX users_by_role_email;
CREATE INDEX users_by_role_email ON users (tenant_id, role, email_key, id) INCLUDE (status);
CREATE INDEX users_never_signed_in ON users (tenant_id, created_at, id) INCLUDE (status)
    WHERE last_sign_in_at IS NULL;
CREATE INDEX users_by_last_sign_in ON users (tenant_id, last_sign_in_at) INCLUDE (status);
CREATE INDEX api_keys_revoked ON api_keys (tenant_id, created_at, id) WHERE revoked_at IS NOT NULL;
CREATE INDEX decisions_by_outcome ON decisions (tenant_id, outcome, created_at, id);
CREATE INDEX audit_events_by_actor ON audit_events (tenant_id, actor_id, occurred_at, id);
DROP INDEX api_keys_by_owner;
CREATE INDEX api_keys_by_owner ON api_keys (tenant_id, owner_user_id, created_at, id)
    WHERE owner_user_id IS NOT NULL;
DROP INDEX invites_by_email;
CREATE INDEX invites_by_email ON invites (tenant_id, email_key, id);
CREATE INDEX invites_by_status_email ON invites (tenant_id, status, email_key, id);
