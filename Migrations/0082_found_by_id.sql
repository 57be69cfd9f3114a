-- outside a transaction
-- A search finds any id, whatever has it and in whichever tenant; the id of a request; refused addresses; a key by its
-- end. And users are listed by their last sign-ins. Ids as texts, so that what names its tenant goes on by its own index.
DROP INDEX CONCURRENTLY IF EXISTS users_by_id
-- then
CREATE INDEX CONCURRENTLY users_by_id ON users ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS merged_users_by_id
-- then
CREATE INDEX CONCURRENTLY merged_users_by_id ON merged_users ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS identities_by_id
-- then
CREATE INDEX CONCURRENTLY identities_by_id ON identities ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS former_identities_by_id
-- then
CREATE INDEX CONCURRENTLY former_identities_by_id ON former_identities ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS sessions_by_id
-- then
CREATE INDEX CONCURRENTLY sessions_by_id ON sessions ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS api_keys_by_id
-- then
CREATE INDEX CONCURRENTLY api_keys_by_id ON api_keys ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS invites_by_id
-- then
CREATE INDEX CONCURRENTLY invites_by_id ON invites ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS join_links_by_id
-- then
CREATE INDEX CONCURRENTLY join_links_by_id ON join_links ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS domains_by_id
-- then
CREATE INDEX CONCURRENTLY domains_by_id ON domains ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS cors_origins_by_id
-- then
CREATE INDEX CONCURRENTLY cors_origins_by_id ON cors_origins ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS jobs_by_id
-- then
CREATE INDEX CONCURRENTLY jobs_by_id ON jobs ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS decisions_by_id
-- then
CREATE INDEX CONCURRENTLY decisions_by_id ON decisions ((id::text))
-- then
DROP INDEX CONCURRENTLY IF EXISTS decisions_by_request
-- then
CREATE INDEX CONCURRENTLY decisions_by_request ON decisions (request_id, tenant_id) WHERE request_id IS NOT NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS decisions_refused_by_address
-- then
CREATE INDEX CONCURRENTLY decisions_refused_by_address ON decisions (email_key, created_at, id) WHERE outcome = 'refused'
-- then
DROP INDEX CONCURRENTLY IF EXISTS failed_sign_ins_by_request
-- then
CREATE INDEX CONCURRENTLY failed_sign_ins_by_request ON failed_sign_ins (request_id, tenant_id)
-- then
DROP INDEX CONCURRENTLY IF EXISTS api_keys_by_last_four
-- then
CREATE INDEX CONCURRENTLY api_keys_by_last_four ON api_keys (last4, tenant_id)
-- then
DROP INDEX CONCURRENTLY IF EXISTS users_by_sign_in
-- then
CREATE INDEX CONCURRENTLY users_by_sign_in ON users (tenant_id,
    (CASE WHEN last_sign_in_at IS NULL THEN '-infinity' ELSE last_sign_in_at END), id) INCLUDE (status)
