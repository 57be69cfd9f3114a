-- What a database that spreads tenants over several servers needs of the functions (Migrations/distributed); on one
-- server it changes nothing. A function about one tenant takes the tenant as an argument, so that a call can be
-- handed to the tenant's server. None is in SQL, whose arguments cannot be handed on.

-- kind: system. The one row of the platform where an INSERT of many rows takes the id of their tenant from a table:
-- from `tenants`, or from here.
CREATE TABLE platform_anchor (id uuid PRIMARY KEY CHECK (id = '00000000-0000-0000-0000-000000000000'));
INSERT INTO platform_anchor VALUES ('00000000-0000-0000-0000-000000000000');
GRANT SELECT ON platform_anchor TO gatehouse_app;

-- The program of before this file calls the functions without the tenant.
CREATE FUNCTION user_search_put(tenant uuid, wanted uuid, text_of text, since timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    INSERT INTO user_search VALUES (tenant, wanted, text_of, since)
        ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content;
END $$;
CREATE FUNCTION user_search_put_all(tenant uuid, wanted uuid[], texts text[], since timestamptz[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    INSERT INTO user_search
        SELECT tenant, u.id, u.content, u.at FROM unnest(wanted, texts, since) AS u (id, content, at)
        ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content;
END $$;
CREATE FUNCTION user_search_drop(tenant uuid, wanted uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    DELETE FROM user_search WHERE tenant_id = tenant AND user_id = wanted;
END $$;

-- The purge of a tenant, a table at a time: the tables with a tenant's rows, and whether they lie with the tenant.
CREATE FUNCTION tenant_tables() RETURNS TABLE (relation text, by_tenant boolean)
    LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT c.relname::text, true FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        AND a.attname = 'tenant_id' AND NOT a.attisdropped
        AND c.relname NOT IN ('audit_events', 'directory_slugs', 'directory_locators')
    ORDER BY c.relname $$;
-- Of a deleted tenant alone: decisions and policies of an active one are append-only. The caller holds the row of the
-- tenant. most: the bound of removed rows; rows that a foreign key removes with them do not count.
CREATE FUNCTION tenant_table_remove(tenant uuid, place text, most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE removed bigint;
BEGIN
    PERFORM 1 FROM tenants WHERE id = tenant AND id = current_tenant() AND status = 'deleted';
    IF NOT FOUND THEN RAISE EXCEPTION 'only a deleted tenant is purged'; END IF;
    IF place NOT IN (SELECT relation FROM tenant_tables()) THEN RAISE EXCEPTION 'no table of tenants'; END IF;
    PERFORM set_config('app.merged', 'on', true);
    EXECUTE format('DELETE FROM %1$I WHERE tenant_id = $1 AND ctid = ANY (ARRAY('
        'SELECT ctid FROM %1$I WHERE tenant_id = $1 LIMIT $2))', place) USING tenant, most;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;
-- kept: ids of operators whose names stay, those of the platform.
CREATE FUNCTION audit_redact_tenant(tenant uuid, kept text[], most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE redacted bigint;
BEGIN
    PERFORM 1 FROM tenants WHERE id = tenant AND id = current_tenant() AND status = 'deleted';
    IF NOT FOUND THEN RAISE EXCEPTION 'only a deleted tenant is purged'; END IF;
    UPDATE audit_events AS e SET redacted_at = now(), ip = NULL,
        target_name = CASE WHEN e.target_type = 'tenant' THEN e.target_name ELSE '' END,
        changes = audit_without_words(e.changes),
        actor_name = CASE WHEN e.actor_type = 'user' OR e.actor_type = 'operator' AND e.actor_id <> ALL (kept)
            THEN '' ELSE e.actor_name END
    WHERE e.tenant_id = tenant AND e.id IN (
        SELECT id FROM audit_events WHERE tenant_id = tenant AND redacted_at IS NULL LIMIT most);
    GET DIAGNOSTICS redacted = ROW_COUNT;
    RETURN redacted;
END $$;
GRANT EXECUTE ON FUNCTION user_search_put(uuid, uuid, text, timestamptz),
    user_search_put_all(uuid, uuid[], text[], timestamptz[]), user_search_drop(uuid, uuid), tenant_tables(),
    tenant_table_remove(uuid, text, bigint), audit_redact_tenant(uuid, text[], bigint) TO gatehouse_app;

-- The id of a tenant in the platform's own system is claimed for the transaction's tenant; NULL: it has none. On one
-- server the index on tenants decides, and there is nothing to do. False: another tenant has it.
CREATE FUNCTION directory_claim_external_id(wanted text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN true;
END $$;
GRANT EXECUTE ON FUNCTION directory_claim_external_id(text) TO gatehouse_app;

CREATE OR REPLACE FUNCTION origin_wildcard_stands(tenant uuid, base text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM domains d WHERE d.tenant_id = tenant AND d.status = 'verified'
            AND (d.domain = base OR right(base, length(d.domain) + 1) = '.' || d.domain));
END $$;
CREATE OR REPLACE FUNCTION domain_claimants(wanted text[]) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT d.tenant_id FROM domains d WHERE d.domain = ANY (wanted) AND d.status = 'pending'
        ORDER BY d.created_at, d.tenant_id LIMIT 10;
END $$;
-- No function that reads a tenant's tables within a query of tables.
CREATE OR REPLACE FUNCTION origin_rows(wanted uuid, slug_of text, locator_of text, listed text[], everywhere boolean)
RETURNS TABLE (tenant_id uuid, status text, dev_origins boolean, private_network boolean, origin text,
    credentials boolean, expires_at timestamptz, stands boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE holder uuid := wanted;
BEGIN
    IF slug_of IS NOT NULL THEN
        SELECT s.tenant_id INTO holder FROM directory_slugs s WHERE s.slug = slug_of;
    ELSIF locator_of IS NOT NULL THEN
        SELECT l.tenant_id INTO holder FROM directory_locators l WHERE l.locator = locator_of;
    END IF;
    RETURN QUERY
        SELECT o.tenant_id, 'active', false, false, o.origin, o.credentials, o.expires_at,
            o.kind = 'exact'
        FROM cors_origins o
        WHERE o.tenant_id = '00000000-0000-0000-0000-000000000000' AND o.origin = ANY (listed);
    RETURN QUERY
        SELECT t.id, t.status, coalesce((p.document ->> 'dev_origins')::boolean, false),
            coalesce((p.document ->> 'private_network')::boolean, false),
            o.origin, o.credentials, o.expires_at,
            o.kind = 'exact' OR EXISTS (
                    SELECT 1 FROM domains d WHERE d.tenant_id = t.id AND d.status = 'verified'
                        AND (d.domain = substr(o.origin, 11)
                            OR right(substr(o.origin, 11), length(d.domain) + 1) = '.' || d.domain))
        FROM tenants t
        LEFT JOIN policies p ON p.tenant_id = t.id AND p.version = t.policy_version
        LEFT JOIN cors_origins o ON o.tenant_id = t.id AND o.origin = ANY (listed)
        WHERE t.id = holder;
    IF everywhere THEN
        RETURN QUERY
            SELECT t.id, t.status, false, false, o.origin, false, o.expires_at,
                o.kind = 'exact' OR EXISTS (
                    SELECT 1 FROM domains d WHERE d.tenant_id = t.id AND d.status = 'verified'
                        AND (d.domain = substr(o.origin, 11)
                            OR right(substr(o.origin, 11), length(d.domain) + 1) = '.' || d.domain))
            FROM cors_origins o JOIN tenants t ON t.id = o.tenant_id
            WHERE o.origin = ANY (listed) AND t.status = 'active' AND t.id IS DISTINCT FROM holder;
    END IF;
END $$;

-- A binding of a host by a tenant's own domain is looked at row by row, since the domains lie with the tenant.
CREATE OR REPLACE FUNCTION directory_host_stands(tenant uuid, host text, by_platform boolean) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN by_platform OR origin_wildcard_stands(tenant, split_part(host, ':', 1));
END $$;
CREATE OR REPLACE FUNCTION directory_claim_host(wanted text, client_of text, on_platforms_word boolean)
RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant(); found directory_hosts;
BEGIN
    IF mine IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    SELECT * INTO found FROM directory_hosts h WHERE h.host = wanted;
    IF found.host IS NOT NULL
        AND NOT directory_host_stands(found.tenant_id, found.host, found.by_platform) THEN
        DELETE FROM directory_hosts h WHERE h.host = wanted AND h.tenant_id = found.tenant_id;
    END IF;
    INSERT INTO directory_hosts (host, tenant_id, client, by_platform)
        VALUES (wanted, mine, client_of, on_platforms_word) ON CONFLICT DO NOTHING;
    SELECT * INTO found FROM directory_hosts h WHERE h.host = wanted;
    RETURN coalesce(found.tenant_id = mine AND found.client = client_of, false);
END $$;
CREATE OR REPLACE FUNCTION directory_client_by_host(wanted text[]) RETURNS TABLE (tenant_id uuid, client text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE found directory_hosts;
BEGIN
    FOR found IN SELECT * FROM directory_hosts h WHERE h.host = ANY (wanted)
        ORDER BY array_position(wanted, h.host)
    LOOP
        IF directory_host_stands(found.tenant_id, found.host, found.by_platform) THEN
            tenant_id := found.tenant_id;
            client := found.client;
            RETURN NEXT;
            RETURN;
        END IF;
    END LOOP;
END $$;
CREATE OR REPLACE FUNCTION directory_bound_hosts() RETURNS TABLE (client text, host text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant(); found directory_hosts;
BEGIN
    FOR found IN SELECT * FROM directory_hosts h WHERE h.tenant_id = mine LOOP
        IF directory_host_stands(found.tenant_id, found.host, found.by_platform) THEN
            client := found.client;
            host := found.host;
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;
CREATE OR REPLACE FUNCTION directory_release_host(wanted text, client_of text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_hosts h WHERE h.host = wanted AND h.tenant_id = mine AND h.client = client_of;
END $$;
CREATE OR REPLACE FUNCTION directory_release_domain(wanted text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_domains WHERE domain = wanted AND tenant_id = mine;
END $$;
CREATE OR REPLACE FUNCTION directory_add_people(wanted bytea[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_people SELECT substring(key FOR 36), mine FROM unnest(wanted) AS key
        ON CONFLICT DO NOTHING;
END $$;
CREATE OR REPLACE FUNCTION directory_keep_people(ids bytea[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant(); removed bigint;
BEGIN
    DELETE FROM directory_people WHERE tenant_id = mine AND NOT substring(key FOR 4) = ANY (ids);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;
CREATE OR REPLACE FUNCTION directory_people_under(id bytea, most bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE past bytea := id || decode(repeat('ff', 33), 'hex');
BEGIN
    RETURN (SELECT count(*) FROM (SELECT 1 FROM directory_people WHERE key >= id AND key < past LIMIT most) AS found);
END $$;
CREATE OR REPLACE FUNCTION directory_people_elsewhere(ids bytea[]) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM directory_people WHERE NOT substring(key FOR 4) = ANY (ids));
END $$;
CREATE OR REPLACE FUNCTION directory_put_logo(wanted text, type_of text, bytes bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_logos VALUES (wanted, mine, type_of, bytes)
        ON CONFLICT (tenant_id) DO UPDATE
        SET hash = excluded.hash, media_type = excluded.media_type, content = excluded.content;
END $$;
CREATE OR REPLACE FUNCTION directory_drop_logo() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_logos WHERE tenant_id = mine;
END $$;

-- How many rows a table or an index has by PostgreSQL's own estimate; below 1 before the first ANALYZE.
CREATE FUNCTION rows_about(place text) RETURNS bigint
    LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(place) $$;
GRANT EXECUTE ON FUNCTION rows_about(text) TO gatehouse_app, gatehouse_platform;

-- The pattern that the sample has least often is found by a loop: not by a subquery that a function's row decides.
CREATE OR REPLACE FUNCTION search_people(patterns text[], most integer) RETURNS TABLE (tenant_id uuid, user_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    -- The part of the table, in per cent, that has about 5,000 rows.
    share double precision := least(100, 500000.0 / greatest(rows_about('public.user_search'), 1));
    pattern text;
    rarest text;
    hits bigint;
    least_hits bigint;
BEGIN
    SELECT count(*) INTO hits FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
        WHERE u.content LIKE ALL (patterns);
    IF hits > 25 THEN
        RETURN QUERY SELECT u.tenant_id, u.user_id FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
            WHERE u.content LIKE ALL (patterns) LIMIT most;
        RETURN;
    END IF;
    FOREACH pattern IN ARRAY patterns LOOP
        CONTINUE WHEN pattern !~ '[[:alnum:]]{3}';
        SELECT count(*) INTO hits FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
            WHERE u.content LIKE pattern;
        IF rarest IS NULL OR hits < least_hits OR (hits = least_hits AND length(pattern) > length(rarest)) THEN
            rarest := pattern;
            least_hits := hits;
        END IF;
    END LOOP;
    -- The index takes one pattern; ALL it does not.
    RETURN QUERY SELECT u.tenant_id, u.user_id FROM user_search u
        WHERE u.content LIKE rarest AND u.content LIKE ALL (patterns) LIMIT most;
END $$;
