-- By these the service finds two records of one person: one address that providers vouched for at two users, and
-- one subject under two issuers.
CREATE INDEX identities_vouched ON identities (tenant_id, email) WHERE email_vouched;
CREATE INDEX identities_by_subject ON identities (tenant_id, subject);
