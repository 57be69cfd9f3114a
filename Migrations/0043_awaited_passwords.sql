-- The person had a password in the system that they were imported from, which did not come along: a mailed reset may
-- set their first one here. Of others without a password the mailbox is no way in.
ALTER TABLE users ADD COLUMN password_awaited boolean NOT NULL DEFAULT false;
