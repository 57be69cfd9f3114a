-- What the service itself needs: outgoing mail, stored responses, the leases of replicas, counters and secret keys.

-- kind: system. Outgoing mail. It is written in the transaction of the change that it reports.
CREATE TABLE mail (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    -- The program decides which kinds there are. With a list here, a new kind would be two changes.
    kind text NOT NULL CHECK (kind ~ '^[a-z_]{1,40}$'),
    -- What the mail is about. A later mail about the same replaces one that still waits.
    about uuid NOT NULL,
    -- Users whose purge ends the mail, where `about` is random so that no later mail replaces it.
    people uuid[],
    -- An HMAC of the address, to count by.
    recipient bytea,
    -- The sealed mail. NULL: the mail server has accepted it, or it was given up, or it is no longer wanted.
    letter bytea,
    -- The part of the return address that nobody can guess: a report that is sent there is about this mail. It gives no
    -- right. NULL: no report is expected.
    return_token text,
    attempts integer NOT NULL DEFAULT 0,
    -- When to try next. NULL: there is nothing left to do.
    next_at timestamptz,
    -- A user waits for an urgent mail.
    urgent boolean NOT NULL DEFAULT false,
    -- Tenants take turns, so that the many mails of one do not hold up those of others: when the mail would leave if
    -- each tenant sent one a minute, or one urgent mail a second. It orders mail and delays none.
    turn timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    failure text
);
CREATE INDEX mail_waiting ON mail (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX mail_by_turn ON mail (turn, id) WHERE next_at IS NOT NULL;
CREATE INDEX mail_by_tenants_turn ON mail (tenant_id, urgent, turn) WHERE next_at IS NOT NULL;
CREATE INDEX mail_by_thing ON mail (about, created_at);
CREATE INDEX mail_by_tenants_thing ON mail (tenant_id, about);
CREATE INDEX mail_by_tenants_kind ON mail (tenant_id, kind, created_at);
CREATE INDEX mail_by_recipient ON mail (recipient, created_at);
CREATE INDEX mail_by_tenants_recipient ON mail (tenant_id, recipient, created_at);
CREATE INDEX mail_by_tenants_people ON mail USING gin (tenant_id, people) WITH (fastupdate = off)
    WHERE people IS NOT NULL;
CREATE UNIQUE INDEX mail_by_return_token ON mail (tenant_id, return_token) WHERE return_token IS NOT NULL;
CREATE INDEX mail_by_age ON mail (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON mail TO gatehouse_app;
-- The platform's role reads over all tenants what is due.
GRANT SELECT ON mail TO gatehouse_platform;

-- The ids that a stored response contains. By them the purge of a user finds the responses.
CREATE FUNCTION ids_in(answer bytea) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT id[1] FROM regexp_matches(encode(answer, 'escape'),
        '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'g') AS id);
END $$;
GRANT EXECUTE ON FUNCTION ids_in(bytea) TO gatehouse_app;

-- kind: system. Responses, stored for 24 hours under the caller's idempotency key. Those with a secret are sealed. The
-- tenant is the one that the request changes, so that the response and the change are written on one server; the nil
-- UUID stands for requests about the platform.
CREATE TABLE idempotency (
    tenant_id uuid NOT NULL,
    principal text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    key_hash bytea NOT NULL,
    body_hash bytea NOT NULL,
    answer bytea,
    -- The request that claims the row. A request that was taken for dead and replaced stores nothing afterwards.
    claim uuid,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (principal, method, path, key_hash)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX idempotency_by_tenant ON idempotency (tenant_id, created_at);
CREATE INDEX idempotency_by_person ON idempotency USING gin (tenant_id, ids_in(answer)) WITH (fastupdate = off)
    WHERE answer IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency TO gatehouse_app;
-- The platform's role counts over all tenants what is stored.
GRANT SELECT ON idempotency TO gatehouse_platform;

-- kind: system. The lease of each replica. The clock of the server that granted a lease tells when it ends. `server` is
-- when that server started, and identifies it: after a failover the row is still there, but the clock is another
-- machine's.
CREATE TABLE replicas (
    id uuid PRIMARY KEY,
    lease_until timestamptz NOT NULL,
    server timestamptz NOT NULL DEFAULT pg_postmaster_start_time()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON replicas TO gatehouse_app;

-- kind: system. The numbers of invalidations. A replica acknowledges an invalidation by its number; the notification
-- says what to invalidate. A replica that comes back clears its caches and acknowledges all recent ones.
CREATE TABLE revocations (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX revocations_by_time ON revocations (at);
GRANT SELECT, INSERT, UPDATE, DELETE ON revocations TO gatehouse_app;

-- kind: system. What is limited by the minute, counted for all replicas together. key: an HMAC, so that a dump
-- identifies no user. minute: when the counted minute began.
CREATE TABLE minute_counts (
    key bytea PRIMARY KEY,
    minute timestamptz NOT NULL,
    count integer NOT NULL
);
CREATE INDEX minute_counts_by_age ON minute_counts (minute);
GRANT SELECT, INSERT, UPDATE, DELETE ON minute_counts TO gatehouse_app;

-- kind: system. The ids of the secret keys that seal texts in this database, but never the keys. canary: a text that is
-- sealed with the key, which a wrong key does not open. seals: new texts are sealed with this one. There is a second
-- row while a key is replaced.
CREATE TABLE secret_keys (
    id bytea PRIMARY KEY CHECK (length(id) = 4),
    canary bytea NOT NULL,
    seals boolean NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX secret_keys_one_seals ON secret_keys (seals) WHERE seals;
GRANT SELECT, INSERT, UPDATE, DELETE ON secret_keys TO gatehouse_app;

-- kind: system. Which of the secret keys each running replica knows, and with which one it seals.
CREATE TABLE secret_key_holders (
    replica uuid PRIMARY KEY,
    keys bytea[] NOT NULL,
    sealing bytea NOT NULL,
    seen_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON secret_key_holders TO gatehouse_app;

-- Analyses the tables that a large write has grown, and returns how many. Until autovacuum runs, PostgreSQL takes such
-- a table for small or empty, and may choose an index by which it reads every row of a tenant. The function analyses a
-- table that has twice the pages of its last statistics, so about once for each doubling.
CREATE FUNCTION analyze_grown_tables() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE grown name; count integer := 0;
BEGIN
    FOR grown IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
            AND c.relname IN ('users', 'invites', 'identities', 'user_search', 'directory_people',
                'audit_events', 'mail')
            AND pg_relation_size(c.oid) / current_setting('block_size')::bigint > 2 * c.relpages + 8
        ORDER BY c.relname
    LOOP
        EXECUTE format('ANALYZE %I', grown);
        count := count + 1;
    END LOOP;
    RETURN count;
END $$;
GRANT EXECUTE ON FUNCTION analyze_grown_tables() TO gatehouse_app;
