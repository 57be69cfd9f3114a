-- kind: system. How operators sign in at a provider of the platform: one row, or none. required: the passwords of
-- the domains' operators sign in no more.
CREATE TABLE operator_sign_in (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    provider_id uuid NOT NULL REFERENCES providers (id),
    domains text[] NOT NULL CHECK (cardinality(domains) BETWEEN 1 AND 100),
    required boolean NOT NULL DEFAULT false,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

-- kind: system. Who an operator is at a provider: bound at the first sign-in there, and from then on the only one who
-- signs in there as this operator, whatever the addresses become. disowned: it never does again, under whichever
-- address.
CREATE TABLE operator_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    disowned boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE UNIQUE INDEX operator_identities_one ON operator_identities (operator_id, issuer) WHERE NOT disowned;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_sign_in, operator_identities TO gatehouse_app;

-- provider_mfa: at the provider, which reported a second factor. provider_id: the session began there or was stepped up
-- there; provider_factor: with a second factor. Both stay when another proof follows.
ALTER TABLE operator_sessions
    ADD COLUMN provider_id uuid,
    ADD COLUMN provider_factor boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT operator_sessions_method_check,
    ADD CONSTRAINT operator_sessions_method_check CHECK (method IN
        ('password', 'totp', 'recovery_code', 'passkey', 'provider', 'provider_mfa', 'link'));

-- The console's session that the sign-in is to step up; NULL: another sign-in.
ALTER TABLE login_states ADD COLUMN operator_session uuid;
