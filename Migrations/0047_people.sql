-- What an invite gives to the user who accepts it, as the users' own.
ALTER TABLE invites
    ADD COLUMN public_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(public_attributes) <= 16384),
    ADD COLUMN private_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(private_attributes) <= 16384);

-- The address without dots and without what follows a plus sign, by which two records of one person are found; NULL
-- where that is the address itself, which its own index finds.
ALTER TABLE users ADD COLUMN plain_key text GENERATED ALWAYS AS (nullif(
    nullif(replace(split_part(substring(email_key FROM '^(.*)@[^@]*$'), '+', 1), '.', ''), '')
        || substring(email_key FROM '@[^@]*$'), email_key)) STORED;
CREATE INDEX users_by_plain_key ON users (tenant_id, plain_key, id)
    WHERE plain_key IS NOT NULL AND status <> 'deleted';

-- The external id of an import's row that another user, or another row, has: the row's address is target_id's.
ALTER TABLE job_rows ADD COLUMN external_id text;
CREATE INDEX job_rows_contested ON job_rows (tenant_id, target_id) WHERE external_id IS NOT NULL;
