-- kind: system. Rows that serialise the tries of one person, on any replica.
CREATE TABLE provisioning_locks (key bytea PRIMARY KEY);
-- What a retry is recognised by, and the decision that it repeats.
CREATE TABLE provisioning_retries (
    digest bytea PRIMARY KEY,
    tenant_id uuid NOT NULL,
    decision_id uuid NOT NULL,
    -- The very bytes that were answered, and the verdict that a recomputed one is held against.
    answer text NOT NULL,
    reference text NOT NULL,
    recorded jsonb NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX provisioning_retries_by_age ON provisioning_retries (created_at);
CREATE TABLE provisioning_attempts (decision_id uuid NOT NULL, id uuid PRIMARY KEY, at timestamptz NOT NULL);
CREATE INDEX provisioning_attempts_by_decision ON provisioning_attempts (decision_id);
CREATE TABLE pending_choices (
    identity bytea NOT NULL,
    tenant_id uuid NOT NULL,
    email_key text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (identity, tenant_id)
);
CREATE TABLE reservations (
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    tenant_id uuid,
    invite_id uuid,
    email_key text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (provider, issuer, subject)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON provisioning_locks, provisioning_retries,
    provisioning_attempts, pending_choices, reservations TO gatehouse_app;
