-- An operator's address is unique among those who have proved the mailbox or were made by the
-- platform; claims that nobody proved coexist, one in each tenant. mailed: following the link proves
-- the mailbox; one that was shown proves nothing.
ALTER TABLE operators DROP CONSTRAINT operators_email_key_key;
ALTER TABLE operators ADD COLUMN confirmed boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX operators_one_confirmed ON operators (email_key) WHERE confirmed;
CREATE UNIQUE INDEX operators_one_in_scope
    ON operators (email_key, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));
ALTER TABLE operator_links ADD COLUMN mailed boolean NOT NULL DEFAULT false;
