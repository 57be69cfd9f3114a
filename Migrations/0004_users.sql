-- kind: tenant. A deleted row keeps its email key: the service recognises a newcomer on a recycled
-- address. One row that is not deleted for each address.
CREATE TABLE users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    name text,
    role text NOT NULL CHECK (role IN ('member', 'manager', 'admin')),
    status text NOT NULL CHECK (status IN ('pending', 'active', 'suspended', 'deleted')),
    source text NOT NULL CHECK (source IN ('invite', 'operator', 'import', 'sign_up', 'approval')),
    email_verified_at timestamptz,
    password_hash text,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_sign_in_at timestamptz,
    deleted_at timestamptz,
    status_before text,
    -- An argon2id PHC string, like the password's.
    pin_hash text,
    -- An operator set the password.
    must_change_password boolean NOT NULL DEFAULT false,
    password_changed_at timestamptz,
    -- When all sessions of the user were ended: tokens that a provider issued before it are refused.
    signed_out_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX users_live_email ON users (tenant_id, email_key) WHERE status <> 'deleted';
CREATE INDEX users_deleted_email ON users (tenant_id, email_key) WHERE status = 'deleted';
-- A filtered list in either order walks one index, and its count reads an index alone, never 10,000
-- rows.
CREATE INDEX users_by_age ON users (tenant_id, created_at, id);
CREATE INDEX users_by_status ON users (tenant_id, status, created_at, id);
CREATE INDEX users_by_status_email ON users (tenant_id, status, email_key, id);
CREATE INDEX users_by_role ON users (tenant_id, role, created_at, id) INCLUDE (status);
CREATE INDEX users_by_role_email ON users (tenant_id, role, email_key, id) INCLUDE (status);
CREATE INDEX users_never_signed_in ON users (tenant_id, created_at, id) INCLUDE (status)
    WHERE last_sign_in_at IS NULL;
CREATE INDEX users_by_last_sign_in ON users (tenant_id, last_sign_in_at) INCLUDE (status);
-- A walk to a frequent text in the order of addresses reads this index alone: the rows lie in any block.
CREATE INDEX users_by_email ON users (tenant_id, email_key, id) INCLUDE (status, name);
-- A sweep finds users who can no longer be restored by the time of their deletion: it reads no more rows
-- than it purges.
CREATE INDEX users_by_deletion ON users (deleted_at) WHERE status = 'deleted';
SELECT protect('users');

-- kind: tenant. What an app stores of its own about a user, by the app's names: a colour, whether its
-- introduction was seen. No rule reads it.
CREATE TABLE client_profiles (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    client text NOT NULL,
    document jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, client),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
SELECT protect('client_profiles');

-- kind: tenant. A requested change of a user's address that is not proved yet: one for each user. Only the
-- hash of the token is stored.
CREATE TABLE email_changes (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX email_changes_by_end ON email_changes (expires_at);
SELECT protect('email_changes');

-- kind: tenant. Addresses that a user had: until expires_at no other user of the tenant gets one.
CREATE TABLE former_addresses (
    tenant_id uuid NOT NULL,
    email_key text NOT NULL,
    user_id uuid NOT NULL,
    email text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, email_key),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX former_addresses_by_user ON former_addresses (tenant_id, user_id);
CREATE INDEX former_addresses_by_end ON former_addresses (expires_at);
SELECT protect('former_addresses');

-- kind: tenant. What stays of a purged user for 30 days: HMACs of the address and of each identity, by
-- which the service refuses the user. person: random, made by the purge, the same in all rows of one
-- user, so that they end together.
CREATE TABLE tombstones (
    tenant_id uuid NOT NULL,
    key bytea NOT NULL,
    person uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX tombstones_by_end ON tombstones (expires_at);
CREATE INDEX tombstones_by_person ON tombstones (tenant_id, person);
SELECT protect('tombstones');

-- kind: tenant. A one-time permission to set a user's password. Only the hash of the token is stored.
CREATE TABLE password_resets (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    -- An operator handed the link over: it also sets the first password of a user who has none.
    by_operator boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX password_resets_by_user ON password_resets (tenant_id, user_id);
SELECT protect('password_resets');

-- kind: system. Requests for a password reset. The service looks for the account after it has answered, so
-- that the answer takes the same time for every address. about: an HMAC of tenant and address, to count
-- by. Once the request is done email_key and next_at are NULL.
CREATE TABLE reset_asks (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    about bytea NOT NULL,
    email_key text,
    next_at timestamptz,
    created_at timestamptz NOT NULL
);
CREATE INDEX reset_asks_due ON reset_asks (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX reset_asks_by_thing ON reset_asks (about, created_at);
CREATE INDEX reset_asks_by_age ON reset_asks (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON reset_asks TO gatehouse_app;
