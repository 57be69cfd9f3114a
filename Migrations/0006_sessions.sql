-- kind: tenant. A user signed in on one device. The id finds the session of an access token, the hash of the
-- token that of an opaque one; only the hash is stored.
CREATE TABLE sessions (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    client text NOT NULL,
    device text,
    token_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    ip text,
    user_agent text,
    expires_at timestamptz NOT NULL,
    -- Reported by the app, unverified.
    device_type text,
    device_os text,
    method text NOT NULL DEFAULT 'oauth' CHECK (method IN ('password', 'oauth')),
    -- Until when a PIN elevates the session.
    elevated_until timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_user ON sessions (tenant_id, user_id, created_at, id);
-- Rows that expire are found by their end over all tenants, here and in other tables: a sweep reads no more
-- rows than it removes.
CREATE INDEX sessions_by_end ON sessions (expires_at);
SELECT protect('sessions');

-- kind: tenant. Devices from which a user's password was right before: each counts its own failures, so that
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

-- kind: tenant. A sign-in that has begun and not ended, valid for ten minutes; one DELETE consumes it.
CREATE TABLE login_states (
    tenant_id uuid NOT NULL,
    state_hash bytea NOT NULL,
    client text NOT NULL,
    provider_id uuid NOT NULL,
    redirect_uri text NOT NULL,
    nonce text NOT NULL,
    -- PKCE: the challenge where the client holds the verifier; sealed in `secrets` where the server does.
    challenge text,
    secrets bytea,
    device text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- The hash of a secret that is in no URL and that the browser has to send back in a cookie. NULL where the
    -- app itself catches the redirect, or holds the PKCE verifier.
    browser_hash bytea,
    -- When a provider was last asked whether the user has decided: no more often than the provider allows,
    -- however many ask, and on however many replicas.
    asked_at timestamptz,
    -- The hash of the token of the invite on whose page the sign-in began, or NULL: the token itself is passed
    -- to no one.
    invite_hash bytea,
    PRIMARY KEY (tenant_id, state_hash)
);
CREATE INDEX login_states_by_end ON login_states (tenant_id, expires_at);
CREATE INDEX login_states_ended ON login_states (expires_at);
SELECT protect('login_states');

-- kind: tenant. Sign-ins at a client contract that failed before the rules ran: no decision records them, and
-- the user is not told why. Identifies no user.
CREATE TABLE failed_sign_ins (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    client text NOT NULL,
    operation text NOT NULL,
    reason text NOT NULL,
    request_id text NOT NULL,
    ip text,
    user_agent text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX failed_sign_ins_by_time ON failed_sign_ins (tenant_id, created_at DESC, id DESC);
CREATE INDEX failed_sign_ins_by_end ON failed_sign_ins (created_at);
SELECT protect('failed_sign_ins');

-- kind: system. The keys that sign access tokens. The private part is sealed; public_jwk is published from the
-- first moment to the end of the overlap. A successor is written before it signs, so that every replica and
-- every reader of the key set knows it by then.
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
