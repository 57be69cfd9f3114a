-- How many people sign in by a provider is asked before it is removed.
CREATE INDEX identities_by_issuer ON identities (provider, issuer);
