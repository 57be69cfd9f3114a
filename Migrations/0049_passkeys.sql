-- What authenticators know an operator by: it says nothing of the operator's id.
ALTER TABLE operators ADD COLUMN passkey_handle bytea UNIQUE CHECK (octet_length(passkey_handle) = 32);

-- kind: system. Credentials of operators (WebAuthn). public_key: a COSE key as it was sent; algorithm: its number in
-- the registry of COSE. relying_party: the domain that it is bound to for ever; usable: whether the server's public name
-- is within it, as each start finds. counter: the last that it showed.
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
    created_at timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE INDEX operator_passkeys_by_operator ON operator_passkeys (operator_id, created_at);
CREATE INDEX operator_passkeys_by_party ON operator_passkeys (relying_party, created_at);

-- kind: system. Challenges that wait for their one answer. binding: a hash of the console's session, or before there is
-- one of a cookie of the browser that asked.
CREATE TABLE webauthn_challenges (
    challenge bytea PRIMARY KEY CHECK (octet_length(challenge) = 32),
    purpose text NOT NULL CHECK (purpose IN ('registration', 'sign_in', 'step_up')),
    binding bytea NOT NULL CHECK (octet_length(binding) = 32),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX webauthn_challenges_by_binding ON webauthn_challenges (binding, created_at);
CREATE INDEX webauthn_challenges_by_end ON webauthn_challenges (expires_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON operator_passkeys, webauthn_challenges TO gatehouse_app;
