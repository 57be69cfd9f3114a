-- An invite lets one person in by their address; a join link lets in many people who have the link.

-- The addresses that a text contains: each both with and without characters that may stand before an address.
CREATE FUNCTION addresses_in(said text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT one[1] FROM unnest(ARRAY['[^[:space:]<>()\[\]:;,"@]+', '[[:alnum:]._%+-]+']) AS local,
        LATERAL regexp_matches(lower(said), local || '@[[:alnum:]-]+(?:\.[[:alnum:]-]+)*', 'g') AS one);
END $$;
GRANT EXECUTE ON FUNCTION addresses_in(text) TO gatehouse_app;

-- kind: tenant. An invite gives a person a place in the tenant: a role, and what else the user shall have from the
-- start. The person accepts it by its link, or by a sign-in with the address. No status says that an invite has
-- expired: the clock does. A live invite is pending and before its end.
CREATE TABLE invites (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    role text NOT NULL CHECK (role IN ('member', 'manager', 'admin')),
    message text,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'revoked')),
    token_hash bytea NOT NULL,
    -- The pending user that the invite made.
    user_id uuid,
    -- The address is outside the domains that the policy allows.
    external boolean NOT NULL DEFAULT false,
    -- What the user gets who accepts the invite.
    external_id text COLLATE "C" CHECK (octet_length(external_id) BETWEEN 1 AND 255),
    public_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(public_attributes) <= 16384),
    private_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(private_attributes) <= 16384),
    -- Where the page of the invite leads in the end: an address of one of the tenant's clients.
    return_to text,
    inviter_type text NOT NULL,
    inviter_id text NOT NULL,
    inviter_name text NOT NULL,
    -- Who set the present role, if not the inviter. When the invite is used, the role is bounded by what this principal
    -- may still give.
    role_by_type text,
    role_by_id text,
    delivery text NOT NULL CHECK (delivery IN ('mail', 'link')),
    sent_count integer NOT NULL DEFAULT 1,
    -- When the invite was last sent. NULL: when it was created.
    sent_at timestamptz,
    -- What became of the last mail. mail_id: that mail; a report about an earlier one changes nothing.
    -- delivery_status NULL: nothing is known, as of an invite that goes by link. delivery_detail: the words of a mail
    -- server, which may contain an address.
    mail_id uuid,
    delivery_status text CHECK (delivery_status IN ('queued', 'sent', 'refused', 'bounced')),
    delivery_detail text CHECK (octet_length(delivery_detail) <= 2048),
    accepted_at timestamptz,
    accepted_user_id uuid,
    accepted_identity_id uuid,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash)
);
CREATE UNIQUE INDEX invites_one_pending ON invites (tenant_id, email_key) WHERE status = 'pending';
CREATE INDEX invites_by_age ON invites (tenant_id, created_at, id);
CREATE INDEX invites_by_status ON invites (tenant_id, status, created_at, id);
CREATE INDEX invites_by_email ON invites (tenant_id, email_key, id);
CREATE INDEX invites_by_status_email ON invites (tenant_id, status, email_key, id);
CREATE INDEX invites_by_delivery ON invites (tenant_id, delivery_status, created_at, id)
    WHERE delivery_status IS NOT NULL;
CREATE INDEX invites_by_external_id ON invites (tenant_id, external_id, created_at, id) WHERE external_id IS NOT NULL;
CREATE INDEX invites_by_id ON invites ((id::text));
CREATE INDEX invites_live ON invites (tenant_id, created_at, id) INCLUDE (expires_at) WHERE status = 'pending';
-- For the overview's count of what waits for an operator.
CREATE INDEX invites_undelivered ON invites (tenant_id, created_at, id) INCLUDE (expires_at)
    WHERE status = 'pending' AND delivery_status IN ('refused', 'bounced');
-- For the search: the trigrams, and a sample that is a walk of one index.
CREATE INDEX invites_address ON invites USING gin (tenant_id, email_key gin_trgm_ops);
CREATE INDEX invites_sample ON invites (tenant_id, id) INCLUDE (email_key);
-- For the quota of an inviter.
CREATE INDEX invites_by_inviter ON invites (tenant_id, inviter_type, inviter_id, created_at);
-- For the revocation of a key, which ends what the key gave.
CREATE INDEX invites_by_role_giver ON invites (tenant_id, role_by_id) WHERE role_by_id IS NOT NULL;
-- For the purge of a user. Without fastupdate no search reads a list of rows that are not in the index yet.
CREATE INDEX invites_by_accepter ON invites (tenant_id, accepted_user_id) WHERE accepted_user_id IS NOT NULL;
CREATE INDEX invites_by_inviting_user ON invites (tenant_id, inviter_id) WHERE inviter_type = 'user';
CREATE INDEX invites_by_said_address ON invites USING gin (tenant_id, addresses_in(delivery_detail))
    WITH (fastupdate = off) WHERE delivery_detail IS NOT NULL;
SELECT protect('invites');
CREATE POLICY invites_owner ON invites FOR SELECT TO CURRENT_USER USING (true);

-- kind: tenant. Who has the link joins as a member, until it has expired or has been used max_uses times.
CREATE TABLE join_links (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    -- Only addresses at these domains may use the link. Empty: all may.
    domains text[] NOT NULL DEFAULT '{}',
    max_uses integer NOT NULL CHECK (max_uses BETWEEN 1 AND 10000),
    uses integer NOT NULL DEFAULT 0 CHECK (uses BETWEEN 0 AND max_uses),
    -- As in invites.
    return_to text,
    -- At each use the maker has to have the right to invite still.
    maker_type text NOT NULL,
    maker_id text NOT NULL,
    maker_name text NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash)
);
CREATE INDEX join_links_by_age ON join_links (tenant_id, created_at, id);
CREATE INDEX join_links_by_id ON join_links ((id::text));
-- For the limit of live links.
CREATE INDEX join_links_live ON join_links (tenant_id, expires_at) WHERE revoked_at IS NULL;
-- For the purge of a user.
CREATE INDEX join_links_by_maker ON join_links (tenant_id, maker_id) WHERE maker_type = 'user';
SELECT protect('join_links');
