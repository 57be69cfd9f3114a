-- An operator runs Gatehouse by the console and the API: for the platform, or for one tenant.

-- kind: system. tenant_id NULL: an operator of the platform. An address is unique among the operators who have proved
-- the mailbox or were made by the platform. Unproved claims coexist, one in each tenant.
CREATE TABLE operators (
    id uuid PRIMARY KEY,
    email text NOT NULL,
    email_key text NOT NULL,
    name text,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'support', 'auditor')),
    tenant_id uuid,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('pending', 'active', 'suspended')),
    confirmed boolean NOT NULL DEFAULT false,
    password_hash text,
    -- From this time on the operator needs a second factor. NULL: never.
    second_factor_due_at timestamptz,
    -- By this, and not by the id, authenticators know the operator.
    passkey_handle bytea UNIQUE CHECK (octet_length(passkey_handle) = 32),
    -- Increases with each change of what the operator signs in with. A proof that began before the change begins no
    -- session.
    proof_version bigint NOT NULL DEFAULT 0,
    last_sign_in_at timestamptz,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX operators_one_confirmed ON operators (email_key) WHERE confirmed;
CREATE UNIQUE INDEX operators_one_in_scope
    ON operators (email_key, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));
CREATE INDEX operators_by_age ON operators (created_at, id);
CREATE INDEX operators_by_tenant ON operators (tenant_id, created_at);
CREATE INDEX operators_of_platform ON operators (id) WHERE tenant_id IS NULL;
CREATE INDEX operators_owners ON operators (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'))
    WHERE role = 'owner' AND status = 'active' AND last_sign_in_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON operators TO gatehouse_app;

-- kind: system. One row: the hash of the set-up token until the first owner exists. salt: what the token is derived
-- from, so that each start shows the same one. NULL: the token was random.
CREATE TABLE setup (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    token_hash bytea,
    salt bytea,
    completed_at timestamptz
);
GRANT SELECT, INSERT, UPDATE, DELETE ON setup TO gatehouse_app;

-- kind: system. Sessions of the console. Only the hash of the token is stored.
CREATE TABLE operator_sessions (
    id uuid PRIMARY KEY,
    token_hash bytea NOT NULL UNIQUE,
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    -- How the session began, or was last stepped up. provider_mfa: at a provider, which reported a second factor.
    method text NOT NULL DEFAULT 'password'
        CHECK (method IN ('password', 'totp', 'recovery_code', 'passkey', 'provider', 'provider_mfa', 'link')),
    -- When the operator last proved to be present. What is hard to take back needs a recent proof. NULL: never, as of a
    -- session that began with a recovery code.
    stepped_up_at timestamptz,
    -- The session began at this provider or was stepped up there; with a second factor, if provider_factor. Both stay
    -- when another proof follows.
    provider_id uuid,
    provider_factor boolean NOT NULL DEFAULT false,
    ip text,
    user_agent text,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX operator_sessions_by_operator ON operator_sessions (operator_id);
CREATE INDEX operator_sessions_by_end ON operator_sessions (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_sessions TO gatehouse_app;

-- kind: system. Links for operators, each used once. Only the hash of the token is stored. not_me: stands in a mail
-- about the account; whoever did not cause the mail follows it, and it ends the sessions and the password.
CREATE TABLE operator_links (
    token_hash bytea PRIMARY KEY,
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    purpose text NOT NULL CHECK (purpose IN ('sign_in', 'password_reset', 'not_me')),
    -- The use of a mailed link proves the mailbox; the use of one that was shown proves nothing.
    mailed boolean NOT NULL DEFAULT false,
    -- The second factor that the mail is about, and which one, if there are several of the kind.
    factor text CHECK (factor IN ('passkey', 'totp', 'recovery_codes', 'provider')),
    factor_id uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE INDEX operator_links_by_operator ON operator_links (operator_id);
CREATE INDEX operator_links_by_end ON operator_links (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_links TO gatehouse_app;

-- kind: system. Wrong passwords: one row for each account, shared by all replicas.
CREATE TABLE sign_in_failures (
    key bytea PRIMARY KEY,
    failures integer NOT NULL,
    locked_until timestamptz,
    last_at timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_failures TO gatehouse_app;

-- kind: system. Browsers in which a sign-in of the operator succeeded, for 90 days. Tries from there have counters of
-- their own, so that nobody is locked out by others' tries. device_hash: the SHA-256 of a cookie.
CREATE TABLE operator_devices (
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    device_hash bytea NOT NULL CHECK (octet_length(device_hash) = 32),
    last_at timestamptz NOT NULL,
    PRIMARY KEY (operator_id, device_hash)
);
CREATE INDEX operator_devices_by_device ON operator_devices (device_hash);
CREATE INDEX operator_devices_by_age ON operator_devices (last_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_devices TO gatehouse_app;

-- Second factors. A factor is disowned when somebody follows the link in the mail about it. It proves nothing any more,
-- but it still counts as a second factor that the operator has: whoever reads the mail must not get in by the password
-- alone.

-- kind: system. The sealed seed of an operator's authenticator app. One that is not confirmed proves nothing yet, and
-- replaces the confirmed one as soon as a code of it is given. last_step: the time step of the last code that was used,
-- so that each code is good once.
CREATE TABLE operator_totp (
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    confirmed boolean NOT NULL,
    seed bytea NOT NULL,
    last_step bigint NOT NULL DEFAULT 0,
    disowned boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (operator_id, confirmed)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_totp TO gatehouse_app;

-- kind: system. Recovery codes, each good once. Only hashes are stored, of 80 random bits or more.
CREATE TABLE operator_recovery_codes (
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    code_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (operator_id, code_hash)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_recovery_codes TO gatehouse_app;

-- kind: system. Passkeys of operators (WebAuthn). public_key: a COSE key as it was sent. algorithm: its number in the
-- registry of COSE. relying_party: the domain to which the passkey is bound for ever. usable: whether the server's
-- public name is within that domain, as each start finds out. counter: the last that the passkey sent.
CREATE TABLE operator_passkeys (
    id uuid PRIMARY KEY,
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    credential_id bytea NOT NULL UNIQUE CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
    relying_party text NOT NULL,
    public_key bytea NOT NULL CHECK (octet_length(public_key) <= 4096),
    algorithm integer NOT NULL CHECK (algorithm IN (-7, -8, -257)),
    counter bigint NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
    name text NOT NULL,
    transports text[] NOT NULL,
    backup_eligible boolean NOT NULL,
    backed_up boolean NOT NULL,
    usable boolean NOT NULL DEFAULT true,
    disowned boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE INDEX operator_passkeys_by_operator ON operator_passkeys (operator_id, created_at);
CREATE INDEX operator_passkeys_by_party ON operator_passkeys (relying_party, created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_passkeys TO gatehouse_app;

-- kind: system. Challenges that wait for their one answer. binding: a hash of the console's session, or before there is
-- a session, of a cookie of the browser that asked.
CREATE TABLE webauthn_challenges (
    challenge bytea PRIMARY KEY CHECK (octet_length(challenge) = 32),
    purpose text NOT NULL CHECK (purpose IN ('registration', 'sign_in', 'step_up')),
    binding bytea NOT NULL CHECK (octet_length(binding) = 32),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX webauthn_challenges_by_binding ON webauthn_challenges (binding, created_at);
CREATE INDEX webauthn_challenges_by_end ON webauthn_challenges (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON webauthn_challenges TO gatehouse_app;

-- kind: system. Challenges of sign-ins by passkey that have been answered, until they end: each is good once. One that
-- has not been answered has no row, so that asking for many costs nobody anything. challenge_hash: its SHA-256.
CREATE TABLE answered_challenges (
    challenge_hash bytea PRIMARY KEY CHECK (octet_length(challenge_hash) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX answered_challenges_by_end ON answered_challenges (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON answered_challenges TO gatehouse_app;

-- kind: system. How operators sign in at a provider of the platform: one row or none. required: operators whose address
-- is at one of the domains no longer sign in by a password.
CREATE TABLE operator_sign_in (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    provider_id uuid NOT NULL REFERENCES providers (id),
    domains text[] NOT NULL CHECK (cardinality(domains) BETWEEN 1 AND 100),
    required boolean NOT NULL DEFAULT false,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_sign_in TO gatehouse_app;

-- kind: system. Who an operator is at a provider. The first sign-in there binds it, and from then on nobody else signs
-- in there as this operator, whatever the addresses become. disowned: this one never signs in again, under any address.
CREATE TABLE operator_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    disowned boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE UNIQUE INDEX operator_identities_one ON operator_identities (operator_id, issuer) WHERE NOT disowned;
CREATE INDEX operator_identities_by_operator ON operator_identities (operator_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_identities TO gatehouse_app;
