-- A session is a user who is signed in on one device. Sign-ins that have begun or failed are here too.

-- kind: tenant. An access token names the session by its id, an opaque token by a secret; only the hash of the secret
-- is stored.
CREATE TABLE sessions (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    client text NOT NULL,
    token_hash bytea NOT NULL,
    method text NOT NULL DEFAULT 'oauth' CHECK (method IN ('password', 'oauth')),
    device text,
    -- The app reported these two; nobody verified them.
    device_type text,
    device_os text,
    ip text,
    user_agent text,
    -- Until when a PIN elevates the session.
    elevated_until timestamptz,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_user ON sessions (tenant_id, user_id, created_at, id);
CREATE INDEX sessions_by_id ON sessions ((id::text));
-- Here and in other tables a sweep finds the rows that have expired over all tenants, and reads no more than it
-- removes.
CREATE INDEX sessions_by_end ON sessions (expires_at);
SELECT protect('sessions');

-- Records in user_uses when a session that ends was last used. One that ends with its user or tenant leaves nothing.
CREATE FUNCTION session_ended_put() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO user_uses AS s (tenant_id, user_id, used_at)
        SELECT o.tenant_id, o.user_id, max(o.last_seen_at) FROM ended o
        WHERE EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = o.tenant_id AND u.id = o.user_id)
            AND EXISTS (SELECT 1 FROM tenants t WHERE t.id = o.tenant_id AND t.status <> 'deleted')
        GROUP BY o.tenant_id, o.user_id ORDER BY o.tenant_id, o.user_id
        ON CONFLICT (tenant_id, user_id)
            DO UPDATE SET used_at = greatest(s.used_at, excluded.used_at);
    RETURN NULL;
END $$;
CREATE TRIGGER session_ended AFTER DELETE ON sessions
    REFERENCING OLD TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION session_ended_put();

-- kind: tenant. Devices from which a user gave the right password before. Each counts its own failures, so that
-- strangers who guess cannot lock the user out. key: an HMAC, so that a dump identifies no user.
CREATE TABLE known_devices (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    key bytea NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, key),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
SELECT protect('known_devices');

-- kind: tenant. A sign-in that has begun and not ended. It is valid for ten minutes, and one DELETE consumes it.
CREATE TABLE login_states (
    tenant_id uuid NOT NULL,
    state_hash bytea NOT NULL,
    client text NOT NULL,
    provider_id uuid NOT NULL,
    redirect_uri text NOT NULL,
    nonce text NOT NULL,
    -- PKCE: the challenge, if the client has the verifier; if the server has it, it is sealed in `secrets`.
    challenge text,
    secrets bytea,
    device text,
    -- The hash of a secret that is in no URL and that the browser has to send back in a cookie. NULL: the app itself
    -- catches the redirect, or has the PKCE verifier.
    browser_hash bytea,
    -- On whose page the sign-in began: the hash of the token of an invite, of a join link or of a link grant. The token
    -- itself is passed to no one.
    invite_hash bytea,
    join_hash bytea,
    grant_hash bytea,
    -- The console's session that the sign-in steps up. NULL: another sign-in.
    operator_session uuid,
    -- The provider was told to ask the person anew (max_age=0). Nobody is sent back a second time.
    asked_anew boolean NOT NULL DEFAULT false,
    -- When a provider was last asked whether the user has decided. It is asked no more often than it allows, however
    -- many callers and replicas there are.
    asked_at timestamptz,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, state_hash)
);
CREATE INDEX login_states_by_end ON login_states (tenant_id, expires_at);
CREATE INDEX login_states_ended ON login_states (expires_at);
SELECT protect('login_states');

-- kind: tenant. Sign-ins that failed before the rules ran, so that no decision records them. The user is not told why.
-- Wrong passwords and PINs are one row for each account and minute, with the number of tries and with the user or
-- operator; other rows have no `tries` and identify nobody.
CREATE TABLE failed_sign_ins (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    client text NOT NULL,
    operation text NOT NULL,
    reason text NOT NULL,
    request_id text NOT NULL,
    -- What the page of a failed sign-in shows, so that whoever is asked for help finds the row.
    reference text,
    tries bigint,
    user_id uuid,
    operator_id uuid,
    -- Counts within the tenant, wrong passwords apart, so that the oldest rows beyond the limit are found without a
    -- walk over all.
    number bigint,
    ip text,
    user_agent text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT failed_sign_ins_user FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX failed_sign_ins_by_time ON failed_sign_ins (tenant_id, created_at DESC, id DESC);
CREATE INDEX failed_sign_ins_by_user ON failed_sign_ins (tenant_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX failed_sign_ins_by_request ON failed_sign_ins (request_id, tenant_id);
CREATE INDEX failed_sign_ins_referred ON failed_sign_ins (reference, tenant_id) WHERE reference IS NOT NULL;
CREATE INDEX failed_sign_ins_numbered ON failed_sign_ins (tenant_id, number) WHERE tries IS NULL;
CREATE INDEX wrong_passwords_numbered ON failed_sign_ins (tenant_id, number) WHERE tries IS NOT NULL;
CREATE INDEX failed_sign_ins_by_end ON failed_sign_ins (created_at);
SELECT protect('failed_sign_ins');

-- kind: system. The keys that sign access tokens. The private part is sealed. public_jwk is published from the first
-- moment to the end of the overlap. A key is written some time before it signs, so that every replica and every reader
-- of the key set knows it by then.
CREATE TABLE signing_keys (
    generation integer PRIMARY KEY,
    kid text NOT NULL UNIQUE,
    sealed bytea NOT NULL,
    public_jwk text NOT NULL,
    signs_from timestamptz NOT NULL,
    signs_until timestamptz NOT NULL,
    published_until timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON signing_keys TO gatehouse_app;
