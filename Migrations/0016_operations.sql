-- kind: system. The lease of each replica. The clock of the server that granted a lease tells when it ends; the
-- start of that server identifies it: after a failover the row is there, but the clock is another machine's.
CREATE TABLE replicas (
    id uuid PRIMARY KEY,
    lease_until timestamptz NOT NULL,
    server timestamptz NOT NULL DEFAULT pg_postmaster_start_time()
);
-- kind: system. The numbers of invalidations: a replica acknowledges an invalidation by its number; what it
-- invalidates travels with the notification. A replica that comes back clears its caches and acknowledges all
-- recent ones.
CREATE TABLE revocations (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX revocations_by_time ON revocations (at);

-- kind: system. Responses stored for 24 hours; those with a secret are sealed.
CREATE TABLE idempotency (
    principal text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    key_hash bytea NOT NULL,
    body_hash bytea NOT NULL,
    answer bytea,
    created_at timestamptz NOT NULL,
    -- The request that claims the row: a request that was taken for dead and replaced stores nothing afterwards.
    claim uuid,
    PRIMARY KEY (principal, method, path, key_hash)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- kind: system. What is limited by the minute, counted for all replicas together. key: an HMAC, so that a dump
-- identifies no user; minute: when the counted minute began.
CREATE TABLE minute_counts (
    key bytea PRIMARY KEY,
    minute timestamptz NOT NULL,
    count integer NOT NULL
);
CREATE INDEX minute_counts_by_age ON minute_counts (minute);

-- kind: system. The names of the secret keys that seal texts in this database; never the keys. canary: a text
-- sealed with the key, which a wrong key does not open. seals: new texts are sealed with it. There is a second row
-- while a key is being replaced.
CREATE TABLE secret_keys (
    id bytea PRIMARY KEY CHECK (length(id) = 4),
    canary bytea NOT NULL,
    seals boolean NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX secret_keys_one_seals ON secret_keys (seals) WHERE seals;
-- kind: system. Which of the secret keys each running replica knows, and with which one it seals.
CREATE TABLE secret_key_holders (
    replica uuid PRIMARY KEY,
    keys bytea[] NOT NULL,
    sealing bytea NOT NULL,
    seen_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON replicas, revocations, idempotency, minute_counts, secret_keys,
    secret_key_holders TO gatehouse_app;

-- Statistics of tables that a large write has grown: until autovacuum runs, PostgreSQL takes them for small or
-- empty and may choose an index by which it reads every row of a tenant. The function analyses a table that has
-- twice the pages of its last statistics, so about once for each doubling.
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

-- The purge of a tenant removes its rows from every table with a tenant_id; the function finds these tables in the
-- catalogue, so that no new table is forgotten. The audit log stays, and so do the slug and the locator: neither
-- is given to another tenant, and an old key's secret is not looked up there. Only a deleted tenant is purged:
-- decisions and policies of an active one are append-only. most: the bound of removed rows; rows that a foreign
-- key removes with them do not count. A result below it: none is left.
CREATE FUNCTION tenant_rows_remove(tenant uuid, most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE place name; removed bigint := 0; batch bigint;
BEGIN
    PERFORM 1 FROM tenants
        WHERE id = tenant AND id = current_tenant() AND status = 'deleted' FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'only a deleted tenant is purged'; END IF;
    FOR place IN
        SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
            AND a.attname = 'tenant_id' AND NOT a.attisdropped
            AND c.relname NOT IN ('audit_events', 'directory_slugs', 'directory_locators')
        ORDER BY c.relname
    LOOP
        EXECUTE format('DELETE FROM %1$I WHERE tenant_id = $1 AND ctid = ANY (ARRAY('
            'SELECT ctid FROM %1$I WHERE tenant_id = $1 LIMIT $2))', place)
            USING tenant, most - removed;
        GET DIAGNOSTICS batch = ROW_COUNT;
        removed := removed + batch;
        IF removed >= most THEN RETURN removed; END IF;
    END LOOP;
    RETURN removed;
END $$;
GRANT EXECUTE ON FUNCTION analyze_grown_tables(), tenant_rows_remove(uuid, bigint) TO gatehouse_app;

-- Every table of the baseline has its row-level security.
DROP FUNCTION protect(text, text, text);
