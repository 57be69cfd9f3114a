-- kind: system. Operators sign in to the console; tenant_id NULL: operators of the platform. An address is
-- unique among the operators who have proved the mailbox or were made by the platform; unproved claims
-- coexist, one in each tenant.
CREATE TABLE operators (
    id uuid PRIMARY KEY,
    email text NOT NULL,
    email_key text NOT NULL,
    name text,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'support', 'auditor')),
    tenant_id uuid,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('pending', 'active', 'suspended')),
    password_hash text,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_sign_in_at timestamptz,
    confirmed boolean NOT NULL DEFAULT false
);
CREATE INDEX operators_by_age ON operators (created_at, id);
CREATE UNIQUE INDEX operators_one_confirmed ON operators (email_key) WHERE confirmed;
CREATE UNIQUE INDEX operators_one_in_scope
    ON operators (email_key, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));

-- kind: system. Only the hash of the token of a session or a link is stored.
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
CREATE INDEX operator_sessions_by_end ON operator_sessions (expires_at);
CREATE TABLE operator_links (
    token_hash bytea PRIMARY KEY,
    operator_id uuid NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    purpose text NOT NULL CHECK (purpose IN ('sign_in', 'password_reset')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    -- Use of a mailed link proves the mailbox; use of one that was shown proves nothing.
    mailed boolean NOT NULL DEFAULT false
);
CREATE INDEX operator_links_by_end ON operator_links (expires_at);

-- kind: system. Failed password attempts: one row for each account key, shared by all replicas.
CREATE TABLE sign_in_failures (
    key bytea PRIMARY KEY,
    failures integer NOT NULL,
    locked_until timestamptz,
    last_at timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);

-- kind: system. The addresses from which an operator's password or link was right, kept for 90 days: attempts
-- from there have a counter of their own. account, place: HMACs of the email address, and of it with the
-- network address.
CREATE TABLE operator_places (
    account bytea NOT NULL,
    place bytea NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (account, place)
);
CREATE INDEX operator_places_by_age ON operator_places (last_at);

-- kind: system. One row: the hash of the set-up token until the first owner exists.
CREATE TABLE setup (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    token_hash bytea,
    completed_at timestamptz
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operators, operator_sessions, operator_links, sign_in_failures,
    operator_places, setup TO gatehouse_app;
