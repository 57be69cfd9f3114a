-- Until PostgreSQL has counted a table that grows fast, it takes every lookup for one row, and prefers the smallest
-- index that serves it: these three have few distinct values, so a sign-in, or each row of an import, read all the
-- identities of a provider, and each user of a list all that have an attribute. Their condition is true of every row,
-- but a lookup of one does not say it, so they are not considered there; the lists and counts that want them say it.
DROP INDEX identities_by_provider;
CREATE INDEX identities_by_provider ON identities (tenant_id, provider, user_id) WHERE user_id IS NOT NULL;
DROP INDEX identities_by_issuer;
CREATE INDEX identities_by_issuer ON identities (provider, issuer) WHERE user_id IS NOT NULL;
DROP INDEX user_attributes_by_value;
CREATE INDEX user_attributes_by_value ON user_attributes (tenant_id, name, value, created_at, user_id)
    WHERE created_at IS NOT NULL;
