-- kind: system. Only the hash of a session's or a link's token is stored.
CREATE TABLE operator_sessions (
    id uuid PRIMARY KEY,
    token_hash bytea NOT NULL UNIQUE,
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    ip text,
    user_agent text,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX operator_sessions_by_operator ON operator_sessions (operator_id);
CREATE TABLE operator_links (
    token_hash bytea PRIMARY KEY,
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    purpose text NOT NULL CHECK (purpose IN ('sign_in', 'password_reset')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
);
-- Failed password tries; one row an account key, shared by every replica.
CREATE TABLE sign_in_failures (
    key bytea PRIMARY KEY,
    failures integer NOT NULL,
    locked_until timestamptz,
    last_at timestamptz NOT NULL
);
-- One row: the set-up token's hash until the first owner exists.
CREATE TABLE setup (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    token_hash bytea,
    completed_at timestamptz
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_sessions, operator_links, sign_in_failures, setup
    TO gatehouse_app;
