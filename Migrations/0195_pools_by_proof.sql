-- A pool's id belongs to one provider among the confirmed: a claim that nobody proved keeps no other
-- off, and counts for its own tenant's credentials alone.
DROP INDEX providers_one_pool;
CREATE UNIQUE INDEX providers_one_pool ON providers (issuer) WHERE kind = 'cognito' AND confirmed;
CREATE INDEX providers_by_issuer ON providers (issuer);
