-- `gatehouse migrate --distribute` spreads the tenants over the servers of Citus. All rows of a tenant lie on one
-- server, which Citus chooses by the tenant's id; everything else stays on the coordinator. The files in this folder
-- are applied only to a distributed database, each behind the file with its number. A database may be distributed at
-- any time: then they come behind all others.

-- First, whether everything is there that this needs.
DO $$
DECLARE fault text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
        RAISE EXCEPTION 'the database has no Citus: CREATE EXTENSION citus on each server, then citus_add_node';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0) THEN
        RAISE EXCEPTION 'the workers cannot reach the coordinator: citus_set_coordinator_host';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_dist_node WHERE groupid > 0 AND isactive AND shouldhaveshards) THEN
        RAISE EXCEPTION 'the database has no worker: citus_add_node';
    END IF;
    IF EXISTS (SELECT FROM replicas WHERE lease_until > clock_timestamp()) THEN
        RAISE EXCEPTION 'a replica is running: stop all of them first';
    END IF;
    SELECT string_agg(nodename || ':' || nodeport || ' ' || result, '; ') INTO fault
    FROM run_command_on_workers($check$
        SELECT concat_ws(' and ',
            CASE WHEN count(*) < 3 THEN 'lacks roles of deploy/install/roles.sql' END,
            CASE WHEN current_setting('max_prepared_transactions')::integer = 0
                THEN 'has max_prepared_transactions = 0' END)
        FROM pg_roles WHERE rolname IN ('gatehouse_owner', 'gatehouse_app', 'gatehouse_platform')
        $check$)
    WHERE NOT success OR result <> '';
    IF fault IS NOT NULL THEN RAISE EXCEPTION 'a worker is not ready: %', fault; END IF;
END $$;

-- Every unique key of a distributed table contains the tenant.
ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey,
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, principal, method, path, key_hash);
ALTER TABLE mail DROP CONSTRAINT mail_pkey, ADD CONSTRAINT mail_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE client_secrets DROP CONSTRAINT client_secrets_id_key;
-- A policy of a distributed table has no subquery.
ALTER POLICY identities_tenant ON identities USING (tenant_id = current_tenant());

-- kind: directory. The ids that tenants have in the platform's own system. Here it replaces the unique index on
-- tenants, which would have to contain the tenant.
CREATE TABLE directory_external_ids (
    external_id text COLLATE "C" PRIMARY KEY,
    tenant_id uuid NOT NULL UNIQUE
);
INSERT INTO directory_external_ids SELECT external_id, id FROM tenants WHERE external_id IS NOT NULL;
DROP INDEX tenants_external_id;
CREATE INDEX tenants_by_external_id ON tenants (external_id) WHERE external_id IS NOT NULL;
CREATE OR REPLACE FUNCTION directory_claim_external_id(wanted text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE holder uuid; mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    DELETE FROM directory_external_ids WHERE tenant_id = mine AND external_id IS DISTINCT FROM wanted;
    IF wanted IS NULL THEN RETURN true; END IF;
    INSERT INTO directory_external_ids VALUES (wanted, mine) ON CONFLICT DO NOTHING;
    SELECT tenant_id INTO holder FROM directory_external_ids WHERE external_id = wanted;
    RETURN holder = mine;
END $$;

-- A trigger writes rows of its own tenant, on the tenant's server, and each statement names the tenant.
CREATE OR REPLACE FUNCTION former_identity_put() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = OLD.tenant_id AND u.id = OLD.user_id) THEN
        INSERT INTO former_identities (tenant_id, id, user_id) VALUES (OLD.tenant_id, OLD.id, OLD.user_id)
            ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION session_ended_put() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE o record;
BEGIN
    FOR o IN SELECT tenant_id, user_id, max(last_seen_at) AS used_at FROM ended
        GROUP BY tenant_id, user_id ORDER BY tenant_id, user_id
    LOOP
        CONTINUE WHEN NOT EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = o.tenant_id AND u.id = o.user_id)
            OR NOT EXISTS (SELECT 1 FROM tenants t WHERE t.id = o.tenant_id AND t.status <> 'deleted');
        INSERT INTO user_uses AS s (tenant_id, user_id, used_at) VALUES (o.tenant_id, o.user_id, o.used_at)
            ON CONFLICT (tenant_id, user_id) DO UPDATE SET used_at = greatest(s.used_at, excluded.used_at);
    END LOOP;
    RETURN NULL;
END $$;
-- By a function, because Citus hands a SET on with the whole file in which it stands.
SELECT set_config('citus.enable_unsafe_triggers', 'on', true),
    set_config('citus.multi_shard_modify_mode', 'sequential', true);
-- The owner copies the rows, and row-level security would hide them from the owner.
DO $$
DECLARE
    relation regclass;
    protected regclass[] := ARRAY(SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace
        AND relkind = 'r' AND relrowsecurity AND relforcerowsecurity);
    by_tenant text[] := ARRAY['users',
    'identities', 'api_key_uses', 'api_keys', 'attribute_schemas', 'audit_events', 'barred_identities',
    'client_profiles', 'client_secrets', 'clients', 'cors_origins', 'decisions', 'domains', 'email_changes',
    'failed_sign_ins', 'former_addresses', 'former_identities', 'idempotency', 'identity_aliases', 'import_keys',
    'import_rows', 'imports', 'inactive_users', 'inactivity_days', 'invites', 'job_rows', 'jobs', 'join_links',
    'known_devices', 'link_grants', 'login_states', 'mail', 'merged_users', 'password_resets', 'policies',
    'policy_trials', 'refused_origins', 'sessions', 'tombstones', 'user_attributes', 'user_merges', 'user_search',
    'user_uses', 'verification_counts'];
BEGIN
    FOREACH relation IN ARRAY protected LOOP
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY', relation);
    END LOOP;
    PERFORM create_distributed_table('tenants', 'id');
    PERFORM create_distributed_table('platform_anchor', 'id', colocate_with => 'tenants');
    FOREACH relation IN ARRAY by_tenant::regclass[] LOOP
        PERFORM create_distributed_table(relation, 'tenant_id', colocate_with => 'tenants');
    END LOOP;
    FOREACH relation IN ARRAY protected LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', relation);
    END LOOP;
END $$;

-- The rows have been copied, so those on the coordinator can go.
SELECT truncate_local_data_after_distributing_table(logicalrelid) FROM pg_dist_partition WHERE partmethod = 'h';

-- A function about one tenant runs on that tenant's server, within the caller's transaction there.
SELECT create_distributed_function(signature, 'tenant', colocate_with => 'tenants', force_delegation => true)
FROM unnest(ARRAY['user_search_put(uuid, uuid, text, timestamptz)',
    'user_search_put_all(uuid, uuid[], text[], timestamptz[])', 'user_search_drop(uuid, uuid)',
    'search_matches(text, uuid, text[], integer)',
    'search_fetch(text, uuid, text[], text, timestamptz, text, uuid, integer)',
    'decisions_remove(uuid, timestamptz, bigint)', 'decisions_redact(uuid, uuid, text[])',
    'person_redact(uuid, uuid, uuid[], text[])', 'policies_redact(uuid, text[])',
    'policies_redact_author(uuid, uuid)', 'audit_redact_tenant(uuid, text[], bigint)',
    'tenant_table_remove(uuid, text, bigint)']::regprocedure[]) AS signature;

-- The purge of a tenant removes the rows on the tenant's server by tenant_table_remove, and those on the coordinator by
-- coordinator_table_remove. The latter cannot ask whether the tenant is deleted: Citus lets no second role read what a
-- transaction has changed.
CREATE OR REPLACE FUNCTION tenant_tables() RETURNS TABLE (relation text, by_tenant boolean)
    LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT c.relname::text, EXISTS (SELECT 1 FROM pg_dist_partition d
        WHERE d.logicalrelid = c.oid AND d.partmethod = 'h')
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        AND a.attname = 'tenant_id' AND NOT a.attisdropped
        AND c.relname NOT IN ('audit_events', 'directory_slugs', 'directory_locators')
    ORDER BY c.relname $$;
CREATE FUNCTION coordinator_table_remove(tenant uuid, place text, most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE removed bigint;
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    IF place NOT IN (SELECT relation FROM tenant_tables() WHERE NOT by_tenant) THEN
        RAISE EXCEPTION 'no table of the coordinator';
    END IF;
    EXECUTE format('DELETE FROM %1$I WHERE tenant_id = $1 AND ctid = ANY (ARRAY('
        'SELECT ctid FROM %1$I WHERE tenant_id = $1 LIMIT $2))', place) USING tenant, most;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;
GRANT EXECUTE ON FUNCTION coordinator_table_remove(uuid, text, bigint) TO gatehouse_app;

-- Tables of the coordinator whose rows are written together with a tenant's and must not be lost without them. A commit
-- of both has two phases. What a revocation writes is not among them, so that its commit has one.
SELECT citus_add_local_table_to_metadata(relation) FROM unnest(ARRAY['directory_slugs', 'directory_locators',
    'directory_domains', 'directory_hosts', 'directory_logos', 'directory_people', 'directory_external_ids',
    'directory_claimed_ids', 'pending_choices', 'provisioning_retries', 'provisioning_attempts',
    'reservations']::regclass[]) AS relation;

-- Each server has the estimates for its own parts of a table, and adds them up.
CREATE OR REPLACE FUNCTION rows_about(place text) RETURNS bigint
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE whole regclass := place; found regclass := whole;
BEGIN
    SELECT indrelid INTO found FROM pg_index WHERE indexrelid = whole;
    RETURN (SELECT coalesce(sum(result::bigint), 0) FROM run_command_on_workers(format($count$
        SELECT coalesce(sum(c.reltuples), 0)::bigint
        FROM pg_dist_shard s JOIN pg_class c ON c.oid = to_regclass(%L || '_' || s.shardid)
        WHERE s.logicalrelid = %L::regclass $count$, whole, coalesce(found, whole))) WHERE success);
END $$;

-- The functions above call this one on each server. Citus brings it there even if it was made before Citus was
-- installed.
SELECT create_distributed_function('audit_without_words(jsonb)');

-- Our default privileges do not reach the workers. This revokes what every role may do there, now and later.
DO $$
DECLARE signature regprocedure; fault text;
BEGIN
    SELECT string_agg(nodename || ':' || nodeport || ' ' || result, '; ') INTO fault
    FROM run_command_on_workers('ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC')
    WHERE NOT success;
    IF fault IS NOT NULL THEN RAISE EXCEPTION 'default privileges of a worker: %', fault; END IF;
    FOR signature IN SELECT oid FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proowner = current_user::regrole
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', signature);
    END LOOP;
END $$;
