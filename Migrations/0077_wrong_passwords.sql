-- Wrong passwords and PINs, one line of each account and minute: how often, and whose they were. NULL tries: a line of
-- another failure. The lines of a user end with the user.
ALTER TABLE failed_sign_ins ADD COLUMN tries bigint;
-- then
ALTER TABLE failed_sign_ins ADD COLUMN user_id uuid;
-- then
ALTER TABLE failed_sign_ins ADD COLUMN operator_id uuid;
-- then
ALTER TABLE failed_sign_ins ADD CONSTRAINT failed_sign_ins_user FOREIGN KEY (tenant_id, user_id)
    REFERENCES users (tenant_id, id) ON DELETE CASCADE;
-- then
CREATE INDEX failed_sign_ins_by_user ON failed_sign_ins (tenant_id, user_id) WHERE user_id IS NOT NULL;
