-- kind: tenant. (provider, issuer, subject) is the key of a user's sign-in, never the email.
CREATE TABLE identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    -- The address that the provider sent at the last sign-in.
    email text,
    -- The identity was proved for its user; email_vouched is about the address.
    email_verified boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    -- The tenant asserted the identity by itself (its own provider, its hook, its operators): it counts in
    -- that tenant alone. Subjects are public, and anyone may claim one within a tenant of their own.
    tenants_word boolean NOT NULL DEFAULT false,
    -- The number of rows in identity_aliases: lists show it.
    alias_count integer NOT NULL DEFAULT 0,
    -- The operator or the key that linked the identity; NULL: a rule or the user did.
    linked_by_type text,
    linked_by_id text,
    -- Whether the provider vouched for `email` at the last sign-in.
    email_vouched boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, provider, issuer, subject),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
-- A list that is filtered by a rare provider starts here.
CREATE INDEX identities_by_provider ON identities (tenant_id, provider, user_id);
-- A list asks for the identities of each user, oldest first, without a sort for each.
CREATE INDEX identities_of_user ON identities (tenant_id, user_id, created_at, id);
-- The service counts the users of a provider before it removes the provider.
CREATE INDEX identities_by_issuer ON identities (provider, issuer);
-- A page of users looks up the identities of each: the sub-select asks for the tenant once for the
-- statement, not once for each user, which took some 5 % of the database's time for a list.
SELECT protect('identities', own => 'tenant_id = (SELECT current_tenant())');

-- kind: tenant. The values of `sub` that a pool gave to a user, beside the name or the upstream's subject
-- that is the key of the identity. A native name has at most one: another `sub` is another user.
CREATE TABLE identity_aliases (
    tenant_id uuid NOT NULL,
    pool text NOT NULL,
    alias text NOT NULL,
    identity_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, pool, alias),
    FOREIGN KEY (tenant_id, identity_id) REFERENCES identities (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX identity_aliases_by_identity ON identity_aliases (tenant_id, identity_id, created_at);
SELECT protect('identity_aliases');

-- kind: tenant. Identities that an operator unlinked: the tenant refuses each until an operator restores it
-- or the user is purged.
CREATE TABLE barred_identities (
    tenant_id uuid NOT NULL,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL,
    barred_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, provider, issuer, subject),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX barred_identities_by_user ON barred_identities (tenant_id, user_id);
SELECT protect('barred_identities');

-- kind: tenant. Identities that a user had before: by their ids a purge finds what the audit log says of
-- them. A trigger writes them, so that no way of unlinking is forgotten; they fall with the user.
CREATE TABLE former_identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX former_identities_by_user ON former_identities (tenant_id, user_id);
SELECT protect('former_identities');

-- An identity that falls with the row of its user leaves nothing: there is nothing left to find.
CREATE FUNCTION former_identity_put() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO former_identities (tenant_id, id, user_id)
        SELECT u.tenant_id, OLD.id, u.id FROM users u
        WHERE u.tenant_id = OLD.tenant_id AND u.id = OLD.user_id
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER former_identity AFTER DELETE ON identities
    FOR EACH ROW EXECUTE FUNCTION former_identity_put();

-- kind: tenant. A one-time permission to link an identity to a user. Only the hash of the token is stored.
CREATE TABLE link_grants (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    -- The maker of a grant must not use it for a sign-in of their own.
    made_by_type text,
    made_by_id text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX link_grants_by_user ON link_grants (tenant_id, user_id);
CREATE INDEX link_grants_by_end ON link_grants (expires_at);
SELECT protect('link_grants');
