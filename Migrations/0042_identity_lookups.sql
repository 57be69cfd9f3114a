-- Until PostgreSQL has counted a table that grows fast, it takes every lookup for one row, and prefers the smallest
-- index that serves it: these two have few distinct values, so a sign-in, or each row of an import, read all the
-- identities of a provider. Their condition is true of every row, but a lookup of one identity does not say it, so
-- they are not considered there; the lists and counts that want them say it.
DROP INDEX identities_by_provider;
CREATE INDEX identities_by_provider ON identities (tenant_id, provider, user_id) WHERE user_id IS NOT NULL;
DROP INDEX identities_by_issuer;
CREATE INDEX identities_by_issuer ON identities (provider, issuer) WHERE user_id IS NOT NULL;
