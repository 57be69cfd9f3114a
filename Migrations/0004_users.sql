-- A user is a person in one tenant. A person who is in two tenants is two users, who share nothing.

-- kind: tenant. A deleted row keeps its email key, so that the service recognises a newcomer on a recycled address. A
-- merged row is another user's second record; it stays, so that the merge can be undone, and only a statement that sets
-- app.merged sees it.
CREATE TABLE users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    -- The address as addresses are compared.
    email_key text NOT NULL,
    -- The email key without dots and without what follows a plus sign, by which two records of one person are found.
    -- NULL: it is the email key itself.
    plain_key text GENERATED ALWAYS AS (nullif(
        nullif(replace(split_part(substring(email_key FROM '^(.*)@[^@]*$'), '+', 1), '.', ''), '')
            || substring(email_key FROM '@[^@]*$'), email_key)) STORED,
    email_verified_at timestamptz,
    name text,
    role text NOT NULL CHECK (role IN ('member', 'manager', 'admin')),
    status text NOT NULL CHECK (status IN ('pending', 'active', 'suspended', 'deleted', 'merged')),
    -- What a restoration brings back.
    status_before text,
    source text NOT NULL CHECK (source IN ('invite', 'operator', 'import', 'sign_up', 'approval', 'join_link')),
    -- The join link that let the user in.
    join_link_id uuid,
    -- When the person of a row that waited for approval was declined. The row is deleted then, and was never a user.
    declined_at timestamptz,
    -- The id of the user in the customer's own system, compared as bytes.
    external_id text COLLATE "C" CHECK (octet_length(external_id) BETWEEN 1 AND 255),
    -- The customer's own facts about the user, each a JSON object without white space. They are text, so that numbers
    -- and the order of members stay as written. No rule reads them.
    public_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(public_attributes) <= 16384),
    private_attributes text NOT NULL DEFAULT '{}' CHECK (octet_length(private_attributes) <= 16384),
    -- argon2id strings in PHC format.
    password_hash text,
    pin_hash text,
    password_changed_at timestamptz,
    -- An operator set the password.
    must_change_password boolean NOT NULL DEFAULT false,
    -- The person had a password in the system that they were imported from, but it did not come along. A mailed reset
    -- may set their first one here. For others without a password, the mailbox is no way in.
    password_awaited boolean NOT NULL DEFAULT false,
    -- When all sessions of the user were ended. Tokens that a provider issued before it are refused.
    signed_out_at timestamptz,
    last_sign_in_at timestamptz,
    -- The rule for unused accounts leaves the user out.
    keep boolean NOT NULL DEFAULT false,
    -- When the user last became active without a sign-in (by an import, an invite's page, an approval, a resumption or
    -- a restoration) or set a password by a link. It counts as a use of the account.
    resumed_at timestamptz,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
-- Users who are not deleted have an address and an external id of their own. The winner of a merge may take the
-- loser's.
CREATE UNIQUE INDEX users_live_email ON users (tenant_id, email_key) WHERE status <> 'deleted' AND status <> 'merged';
CREATE UNIQUE INDEX users_live_external_id ON users (tenant_id, external_id)
    WHERE external_id IS NOT NULL AND status <> 'deleted' AND status <> 'merged';
CREATE INDEX users_deleted_email ON users (tenant_id, email_key) WHERE status = 'deleted';
CREATE INDEX users_by_external_id ON users (tenant_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX users_by_plain_key ON users (tenant_id, plain_key, id) WHERE plain_key IS NOT NULL AND status <> 'deleted';
-- A filtered list in either order walks one index, and its count reads only an index.
CREATE INDEX users_by_age ON users (tenant_id, created_at, id);
CREATE INDEX users_by_status ON users (tenant_id, status, created_at, id);
CREATE INDEX users_by_status_email ON users (tenant_id, status, email_key, id);
CREATE INDEX users_by_role ON users (tenant_id, role, created_at, id) INCLUDE (status);
CREATE INDEX users_by_role_email ON users (tenant_id, role, email_key, id) INCLUDE (status);
CREATE INDEX users_never_signed_in ON users (tenant_id, created_at, id) INCLUDE (status)
    WHERE last_sign_in_at IS NULL;
CREATE INDEX users_by_last_sign_in ON users (tenant_id, last_sign_in_at) INCLUDE (status);
CREATE INDEX users_by_sign_in ON users (tenant_id,
    (CASE WHEN last_sign_in_at IS NULL THEN '-infinity' ELSE last_sign_in_at END), id) INCLUDE (status);
-- A search for a frequent text in the order of addresses reads only this index, since the rows lie in any block.
CREATE INDEX users_by_email ON users (tenant_id, email_key, id) INCLUDE (status, name);
-- Those who wait for approval.
CREATE INDEX users_waiting ON users (tenant_id, created_at, id) WHERE status = 'pending' AND source = 'approval';
CREATE INDEX users_waiting_by_email ON users (tenant_id, email_key, id)
    WHERE status = 'pending' AND source = 'approval';
-- A sweep finds users who can no longer be restored, and reads no more rows than it purges.
CREATE INDEX users_by_deletion ON users (deleted_at) WHERE status = 'deleted';
-- A search finds an id in whichever tenant it is, in this table and in others. The index has the id as text, so that a
-- statement that names its tenant goes on to use the primary key.
CREATE INDEX users_by_id ON users ((id::text));
SELECT protect('users', own => $$tenant_id = current_tenant()
    AND (status IS DISTINCT FROM 'merged' OR current_setting('app.merged', true) = 'on')$$);

-- kind: tenant. What a tenant says about the attributes of its users, by their names. ready: the names by which lists
-- filter. A name is ready once all users who were there before have been read. indexed_to: the last of them that has
-- been read so far; NULL: all have.
CREATE TABLE attribute_schemas (
    tenant_id uuid PRIMARY KEY,
    document text NOT NULL,
    version bigint NOT NULL,
    ready text[] NOT NULL DEFAULT '{}',
    indexed_to uuid,
    updated_at timestamptz NOT NULL
);
CREATE INDEX attribute_schemas_unread ON attribute_schemas (tenant_id) WHERE indexed_to IS NOT NULL;
SELECT protect('attribute_schemas');

-- kind: tenant. The attributes by which lists filter. Values are compared as bytes. created_at: the user's, because
-- lists are in its order.
CREATE TABLE user_attributes (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL CHECK (octet_length(value) <= 255),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, name),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
-- Until PostgreSQL has analysed a table that grows fast, it expects one row of every look-up, and prefers the smallest
-- index. An index with few distinct values then reads all users who have an attribute. This one has a condition that
-- every row meets, but only the lists and counts that want the index repeat it: for other statements PostgreSQL does
-- not consider it.
CREATE INDEX user_attributes_by_value ON user_attributes (tenant_id, name, value, created_at, user_id)
    WHERE created_at IS NOT NULL;
SELECT protect('user_attributes');

-- kind: tenant. What an app stores about a user, by the app's names: a colour, whether its introduction was seen. No
-- rule reads it.
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

-- kind: tenant. The change of an address that its user asked for and has not proved yet: one for each user. Only the
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

-- kind: tenant. Addresses that users had before. Until expires_at no other user of the tenant gets one.
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

-- kind: tenant. What stays of a purged user for 30 days: HMACs of the address and of each identity, by which the
-- service refuses the user. person: random, made by the purge, and the same in all rows of one user, so that they end
-- together.
CREATE TABLE tombstones (
    tenant_id uuid NOT NULL,
    key bytea NOT NULL,
    person uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX tombstones_by_end ON tombstones (expires_at);
CREATE INDEX tombstones_ended ON tombstones (tenant_id, expires_at);
CREATE INDEX tombstones_by_person ON tombstones (tenant_id, person);
SELECT protect('tombstones');

-- kind: tenant. A link by which a user sets a new password, once. Only the hash of the token is stored.
CREATE TABLE password_resets (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    -- An operator handed the link over: it also sets the first password of a user who has none.
    by_operator boolean NOT NULL DEFAULT false,
    -- Who made the link: the links of a key that leaked end with the key.
    made_by_type text,
    made_by_id text,
    -- Where the page leads in the end: an address of one of the tenant's clients.
    return_to text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, token_hash),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX password_resets_by_user ON password_resets (tenant_id, user_id);
CREATE INDEX password_resets_by_maker ON password_resets (tenant_id, made_by_id) WHERE made_by_id IS NOT NULL;
CREATE INDEX password_resets_by_end ON password_resets (expires_at);
CREATE INDEX password_resets_ended ON password_resets (tenant_id, expires_at);
SELECT protect('password_resets');

-- kind: system. Requests for a password reset. The service looks for the account only after it has answered, so that
-- the answer takes the same time for every address. about: an HMAC of tenant and address, to count by. Once the request
-- is done, email_key and next_at are NULL.
CREATE TABLE reset_asks (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    about bytea NOT NULL,
    email_key text,
    -- As in password_resets.
    return_to text,
    next_at timestamptz,
    created_at timestamptz NOT NULL
);
CREATE INDEX reset_asks_due ON reset_asks (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX reset_asks_by_thing ON reset_asks (about, created_at);
CREATE INDEX reset_asks_by_address ON reset_asks (tenant_id, email_key) WHERE email_key IS NOT NULL;
CREATE INDEX reset_asks_by_age ON reset_asks (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON reset_asks TO gatehouse_app;

-- The rule for unused accounts warns users who have not been active for long, then suspends them.

-- kind: tenant. The last use of an account that no other row tells: of sessions that have ended, and of a merge or its
-- undo. A trigger on sessions writes it, so that every end of a session is recorded. It has no foreign key to users,
-- because a sweep of sessions must not wait for a user whom a request has locked.
CREATE TABLE user_uses (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    used_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
SELECT protect('user_uses');

-- kind: tenant. What the rule has done to a user. by_mail: whether the warning could be sent. suspended_version: the
-- version of the user that the suspension left; if the user has another one, somebody has changed them since, and the
-- rule leaves them alone.
CREATE TABLE inactive_users (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    warned_at timestamptz,
    by_mail boolean NOT NULL DEFAULT false,
    suspended_at timestamptz,
    suspended_version bigint,
    PRIMARY KEY (tenant_id, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
SELECT protect('inactive_users');

-- kind: tenant. The days of UTC on which the rule was followed, and to how many users it did something.
CREATE TABLE inactivity_days (
    tenant_id uuid NOT NULL,
    day timestamptz NOT NULL,
    acts bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, day)
);
CREATE INDEX inactivity_days_by_day ON inactivity_days (day);
SELECT protect('inactivity_days');
