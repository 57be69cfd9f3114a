-- Two records of one person become one: the loser's row stays, so that the merge can be undone, and nobody
-- sees it. Row-level security hides it from every statement that does not ask for it by app.merged.
ALTER TABLE users DROP CONSTRAINT users_status_check;
ALTER TABLE users ADD CONSTRAINT users_status_check
    CHECK (status IN ('pending', 'active', 'suspended', 'deleted', 'merged'));
ALTER POLICY users_tenant ON users USING (tenant_id = current_tenant()
    AND (status IS DISTINCT FROM 'merged' OR current_setting('app.merged', true) = 'on'));
-- The winner may take the loser's address or external id.
DROP INDEX users_live_email;
CREATE UNIQUE INDEX users_live_email ON users (tenant_id, email_key)
    WHERE status <> 'deleted' AND status <> 'merged';
DROP INDEX users_live_external_id;
CREATE UNIQUE INDEX users_live_external_id ON users (tenant_id, external_id)
    WHERE external_id IS NOT NULL AND status <> 'deleted' AND status <> 'merged';
CREATE INDEX users_by_external_id ON users (tenant_id, external_id) WHERE external_id IS NOT NULL;
DROP INDEX users_deleted_external_id;
-- The purge of a tenant removes these rows too.
CREATE OR REPLACE FUNCTION tenant_rows_remove(tenant uuid, most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE place name; removed bigint := 0; batch bigint;
BEGIN
    PERFORM 1 FROM tenants
        WHERE id = tenant AND id = current_tenant() AND status = 'deleted' FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'only a deleted tenant is purged'; END IF;
    PERFORM set_config('app.merged', 'on', true);
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

-- kind: tenant. What a merge moved from the loser to the winner, and what an undo puts back. keys: [{id, scopes,
-- kept}], the scopes before and after. left_identities and left_aliases: the rows that the merge removed,
-- because they were not proved or were a password's.
CREATE TABLE user_merges (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    winner_id uuid NOT NULL,
    loser_id uuid NOT NULL,
    status text NOT NULL DEFAULT 'done' CHECK (status IN ('done', 'undone')),
    created_at timestamptz NOT NULL,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    winner_status text NOT NULL,
    winner_signed_in_at timestamptz,
    loser_status text NOT NULL,
    identities uuid[] NOT NULL,
    keys jsonb NOT NULL,
    accepted_invites uuid[] NOT NULL,
    revoked_invites uuid[] NOT NULL,
    addresses text[] NOT NULL,
    -- Users who were merged into the loser before.
    carried uuid[] NOT NULL,
    left_identities jsonb NOT NULL,
    left_aliases jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX user_merges_by_age ON user_merges (tenant_id, created_at, id);
CREATE INDEX user_merges_by_winner ON user_merges (tenant_id, winner_id);
CREATE INDEX user_merges_by_loser ON user_merges (tenant_id, loser_id);

-- kind: tenant. The ids of losers: each is read as the winner's, which is not itself in the table as `id`.
CREATE TABLE merged_users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX merged_users_by_user ON merged_users (tenant_id, user_id, id);

DO $$
DECLARE place name;
BEGIN
    FOREACH place IN ARRAY ARRAY['user_merges', 'merged_users'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', place);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', place);
        EXECUTE format('CREATE POLICY %I ON %I USING (tenant_id = current_tenant())',
            place || '_tenant', place);
        EXECUTE format('CREATE POLICY %I ON %I FOR SELECT TO gatehouse_platform USING (true)',
            place || '_platform', place);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO gatehouse_app', place);
        EXECUTE format('GRANT SELECT ON %I TO gatehouse_platform', place);
    END LOOP;
END $$;
