-- What the page of a failed sign-in names, so that who is asked for help finds the line. Lines of before have none,
-- and end within days.
ALTER TABLE failed_sign_ins ADD COLUMN reference text;
-- then
CREATE INDEX failed_sign_ins_by_reference ON failed_sign_ins (reference) WHERE reference IS NOT NULL;
