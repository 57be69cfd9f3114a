-- outside a transaction
-- An index for each of the failed sign-ins that 0084 numbers apart.
DROP INDEX CONCURRENTLY IF EXISTS failed_sign_ins_numbered
-- then
CREATE INDEX CONCURRENTLY failed_sign_ins_numbered ON failed_sign_ins (tenant_id, number) WHERE tries IS NULL
-- then
DROP INDEX CONCURRENTLY IF EXISTS wrong_passwords_numbered
-- then
CREATE INDEX CONCURRENTLY wrong_passwords_numbered ON failed_sign_ins (tenant_id, number) WHERE tries IS NOT NULL
