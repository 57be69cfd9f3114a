-- How a session began or was last stepped up, and when its operator was last proved to be present: what is hard to
-- take back needs a recent proof. NULL: never, as of a session that began with a recovery code.
ALTER TABLE operator_sessions
    ADD COLUMN method text NOT NULL DEFAULT 'password'
        CHECK (method IN ('password', 'totp', 'recovery_code', 'passkey', 'provider', 'link')),
    ADD COLUMN stepped_up_at timestamptz;
UPDATE operator_sessions SET stepped_up_at = created_at;

-- From then on the operator cannot go without a second factor; NULL: may for good.
ALTER TABLE operators ADD COLUMN second_factor_due_at timestamptz;

-- kind: system. The seed of an operator's authenticator app, sealed. One that is not confirmed proves nothing yet and
-- replaces the confirmed one once a code of it was given. last_step: the time step of the last code that was used,
-- so that each is good once.
CREATE TABLE operator_totp (
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    confirmed boolean NOT NULL,
    seed bytea NOT NULL,
    last_step bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (operator_id, confirmed)
);

-- kind: system. Recovery codes, each good once; only hashes are stored, of 80 random bits or more.
CREATE TABLE operator_recovery_codes (
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    code_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (operator_id, code_hash)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_totp, operator_recovery_codes TO gatehouse_app;
