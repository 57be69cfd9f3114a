-- An identity is how a user signs in at a provider. Two records of one person can be merged, with their identities.

-- kind: tenant. The key of a sign-in is (provider, issuer, subject), never the address.
CREATE TABLE identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    -- The address that the provider sent at the last sign-in, and whether the provider vouched for it.
    email text,
    email_vouched boolean NOT NULL DEFAULT false,
    -- Whether the identity was proved to be its user's. It says nothing about the address.
    email_verified boolean NOT NULL DEFAULT false,
    -- Only the tenant said so (by its own provider, its hook or its operators), so the identity counts in that tenant
    -- alone. Subjects are public, and anyone may claim one within a tenant of their own.
    tenants_word boolean NOT NULL DEFAULT false,
    -- The number of rows in identity_aliases, for lists.
    alias_count integer NOT NULL DEFAULT 0,
    -- The operator or the key that linked the identity. NULL: a rule or the user did.
    linked_by_type text,
    linked_by_id text,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, provider, issuer, subject),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
-- A list reads the identities of each user, oldest first, without a sort for each.
CREATE INDEX identities_of_user ON identities (tenant_id, user_id, created_at, id);
-- These two have few distinct values, so their condition is as that of user_attributes_by_value. A list of users that
-- is filtered by a rare provider starts with the first; the second counts the users of a provider before it is removed.
CREATE INDEX identities_by_provider ON identities (tenant_id, provider, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX identities_by_issuer ON identities (provider, issuer) WHERE user_id IS NOT NULL;
-- By these the service finds two records of one person: providers vouched for one address at two users, or one subject
-- is under two issuers.
CREATE INDEX identities_vouched ON identities (tenant_id, email) WHERE email_vouched;
CREATE INDEX identities_by_subject ON identities (tenant_id, subject);
CREATE INDEX identities_by_id ON identities ((id::text));
-- A page of users looks up the identities of each. The sub-select reads the tenant once for the statement; once for
-- each user took some 5 % of the database's time for a list.
SELECT protect('identities', own => 'tenant_id = (SELECT current_tenant())');

-- kind: tenant. The values of `sub` that a pool gave to a user, beside the name or the upstream's subject that is the
-- key of the identity. A native name has at most one, because another `sub` is another user.
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

-- kind: tenant. Identities that an operator unlinked. The tenant refuses each until an operator restores it or the user
-- is purged.
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

-- kind: tenant. The ids of identities that a user had before. By them a purge finds what the audit log says about the
-- identities. A trigger writes them, so that no way of unlinking is forgotten.
CREATE TABLE former_identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX former_identities_by_user ON former_identities (tenant_id, user_id);
CREATE INDEX former_identities_by_id ON former_identities ((id::text));
SELECT protect('former_identities');

-- An identity that is removed together with its user leaves nothing.
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

-- kind: tenant. A permission to link an identity to a user, once. Only the hash of the token is stored.
CREATE TABLE link_grants (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    -- The maker must not use the grant for a sign-in of their own.
    made_by_type text,
    made_by_id text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX link_grants_by_user ON link_grants (tenant_id, user_id);
CREATE INDEX link_grants_by_maker ON link_grants (tenant_id, made_by_id) WHERE made_by_id IS NOT NULL;
CREATE INDEX link_grants_by_end ON link_grants (expires_at);
CREATE INDEX link_grants_ended ON link_grants (tenant_id, expires_at);
SELECT protect('link_grants');

-- kind: tenant. A merge makes one user of two: it moves what the loser had to the winner. The row tells what was moved,
-- so that an undo can put it back.
CREATE TABLE user_merges (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    winner_id uuid NOT NULL,
    loser_id uuid NOT NULL,
    status text NOT NULL DEFAULT 'done' CHECK (status IN ('done', 'undone')),
    created_at timestamptz NOT NULL,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    -- What the two were before the merge.
    winner_status text NOT NULL,
    winner_signed_in_at timestamptz,
    winner_kept boolean NOT NULL DEFAULT false,
    winner_email_key text,
    winner_had_password boolean,
    loser_status text NOT NULL,
    -- What was moved. keys: [{id, scopes, kept}], the scopes before and after.
    identities uuid[] NOT NULL,
    keys jsonb NOT NULL,
    accepted_invites uuid[] NOT NULL,
    revoked_invites uuid[] NOT NULL,
    addresses text[] NOT NULL,
    -- Users who had been merged into the loser before.
    carried uuid[] NOT NULL,
    -- Rows that the merge removed, because they were not proved or were a password's.
    left_identities jsonb NOT NULL,
    left_aliases jsonb NOT NULL,
    -- What the undo ended, because it was made as the winner after the merge. NULL: not undone.
    ended jsonb,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX user_merges_by_age ON user_merges (tenant_id, created_at, id);
CREATE INDEX user_merges_by_winner ON user_merges (tenant_id, winner_id);
CREATE INDEX user_merges_by_loser ON user_merges (tenant_id, loser_id);
CREATE INDEX user_merges_by_maker ON user_merges (tenant_id, created_by_id);
SELECT protect('user_merges');

-- kind: tenant. Under the id of a loser the service finds the winner (user_id). The winner is never a loser in this
-- table.
CREATE TABLE merged_users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX merged_users_by_user ON merged_users (tenant_id, user_id, id);
CREATE INDEX merged_users_by_id ON merged_users ((id::text));
SELECT protect('merged_users');
