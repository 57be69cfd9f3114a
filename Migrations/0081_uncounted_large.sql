-- outside a transaction
-- As the file before, for tables that may be large: each index is built beside the work of others. One that was not
-- finished is built anew.
DROP INDEX CONCURRENTLY IF EXISTS invites_by_role_giver
-- then
CREATE INDEX CONCURRENTLY invites_by_role_giver ON invites (tenant_id, role_by_id) WHERE role_by_id IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS invites_by_said_address
-- then
CREATE INDEX CONCURRENTLY invites_by_said_address ON invites USING gin (tenant_id, addresses_in(delivery_detail)) WITH (fastupdate = off)
    WHERE delivery_detail IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS api_keys_by_revocation
-- then
CREATE INDEX CONCURRENTLY api_keys_by_revocation ON api_keys (tenant_id, revoked_at) WHERE revoked_at IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS user_merges_by_maker
-- then
CREATE INDEX CONCURRENTLY user_merges_by_maker ON user_merges (tenant_id, created_by_id)
-- then
DROP INDEX CONCURRENTLY IF EXISTS jobs_by_maker
-- then
CREATE INDEX CONCURRENTLY jobs_by_maker ON jobs (tenant_id, created_by_id)
-- then
DROP INDEX CONCURRENTLY IF EXISTS jobs_by_kind
-- then
CREATE INDEX CONCURRENTLY jobs_by_kind ON jobs (tenant_id, kind, status)
-- then
DROP INDEX CONCURRENTLY IF EXISTS jobs_by_actor
-- then
CREATE INDEX CONCURRENTLY jobs_by_actor ON jobs (tenant_id, actor_id)
-- then
DROP INDEX CONCURRENTLY IF EXISTS job_rows_by_thing
-- then
CREATE INDEX CONCURRENTLY job_rows_by_thing ON job_rows (tenant_id, target_id)
-- then
DROP INDEX CONCURRENTLY IF EXISTS job_rows_by_external_id
-- then
CREATE INDEX CONCURRENTLY job_rows_by_external_id ON job_rows (tenant_id, external_id) WHERE external_id IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS mail_by_tenants_thing
-- then
CREATE INDEX CONCURRENTLY mail_by_tenants_thing ON mail (tenant_id, about)
-- then
DROP INDEX CONCURRENTLY IF EXISTS mail_by_tenants_recipient
-- then
CREATE INDEX CONCURRENTLY mail_by_tenants_recipient ON mail (tenant_id, recipient, created_at)
-- then
DROP INDEX CONCURRENTLY IF EXISTS mail_by_tenants_people
-- then
CREATE INDEX CONCURRENTLY mail_by_tenants_people ON mail USING gin (tenant_id, people) WITH (fastupdate = off)
    WHERE people IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS tombstones_ended
-- then
CREATE INDEX CONCURRENTLY tombstones_ended ON tombstones (tenant_id, expires_at)
-- then
DROP INDEX CONCURRENTLY IF EXISTS api_keys_live
-- then
CREATE INDEX CONCURRENTLY api_keys_live ON api_keys (tenant_id, id) WHERE revoked_at IS NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS audit_events_by_key
-- then
CREATE INDEX CONCURRENTLY audit_events_by_key ON audit_events (actor_id, tenant_id) WHERE actor_type = 'key'
-- then
DROP INDEX CONCURRENTLY IF EXISTS decisions_by_reference
-- then
CREATE INDEX CONCURRENTLY decisions_by_reference ON decisions (reference, tenant_id)
-- then
DROP INDEX CONCURRENTLY IF EXISTS failed_sign_ins_referred
-- then
CREATE INDEX CONCURRENTLY failed_sign_ins_referred ON failed_sign_ins (reference, tenant_id) WHERE reference IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS verification_counts_by_hour
-- then
CREATE INDEX CONCURRENTLY verification_counts_by_hour ON verification_counts (hour)
-- then
DROP INDEX CONCURRENTLY IF EXISTS idempotency_by_person
-- then
CREATE INDEX CONCURRENTLY idempotency_by_person ON idempotency USING gin (tenant_id, ids_in(answer)) WITH (fastupdate = off)
    WHERE answer IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS mail_waiting
-- then
CREATE INDEX CONCURRENTLY mail_waiting ON mail (next_at, id) WHERE next_at IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS invites_with_words
-- then
DROP INDEX CONCURRENTLY IF EXISTS mail_by_tenant
-- then
DROP INDEX CONCURRENTLY IF EXISTS mail_by_people
-- then
DROP INDEX CONCURRENTLY IF EXISTS decisions_everywhere_by_reference
-- then
DROP INDEX CONCURRENTLY IF EXISTS failed_sign_ins_by_reference
