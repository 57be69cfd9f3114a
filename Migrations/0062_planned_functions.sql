-- PostgreSQL plans a function in SQL at each call that it cannot inline, which took longer than the look-up of one
-- row itself. One in PL/pgSQL is planned once for a connection. These are called by every sign-in.
CREATE OR REPLACE FUNCTION directory_tenant_by_slug(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_slugs WHERE slug = wanted); END $$;
CREATE OR REPLACE FUNCTION directory_tenant_by_locator(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_locators WHERE locator = wanted); END $$;
CREATE OR REPLACE FUNCTION directory_tenant_by_domain(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_domains WHERE domain = wanted); END $$;
CREATE OR REPLACE FUNCTION person_keys(wanted bytea) RETURNS bytea[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE keys bytea[] := '{}';
BEGIN
    FOR start IN 1 .. coalesce(length(wanted), 0) BY 36 LOOP
        keys := keys || substring(wanted FROM start FOR 36);
    END LOOP;
    RETURN keys;
END $$;
CREATE OR REPLACE FUNCTION directory_tenants_of(wanted bytea) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE keys bytea[] := person_keys(wanted);
BEGIN
    RETURN QUERY SELECT DISTINCT tenant_id FROM directory_people WHERE key = ANY (keys)
        ORDER BY tenant_id;
END $$;
CREATE OR REPLACE FUNCTION directory_add_person(wanted bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_people VALUES (substring(wanted FOR 36), mine) ON CONFLICT DO NOTHING;
END $$;
CREATE OR REPLACE FUNCTION directory_remove_person(wanted bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant(); keys bytea[] := person_keys(wanted);
BEGIN
    -- The keys lead to few rows, the tenant to all of its people: this is never looked up in an index.
    DELETE FROM directory_people WHERE key = ANY (keys) AND tenant_id IS NOT DISTINCT FROM mine;
END $$;
CREATE OR REPLACE FUNCTION user_search_put(wanted uuid, text_of text, since timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO user_search VALUES (mine, wanted, text_of, since)
        ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content;
END $$;

-- One row for each identity, then one for each address: their holder is alone with these persons on all replicas.
-- All keys of a person, so that replicas with one secret key and replicas with two lock a common row.
CREATE FUNCTION lock_people(identities bytea, addresses bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE first bytea[] := person_keys(identities); rest bytea[] := person_keys(addresses);
BEGIN
    INSERT INTO provisioning_locks (key)
    SELECT kind || key FROM (
        SELECT '\x69'::bytea AS kind, unnest(first) AS key
        UNION SELECT '\x65'::bytea, unnest(rest)) AS person
    ORDER BY kind DESC, key
    ON CONFLICT (key) DO UPDATE SET key = excluded.key;
END $$;

-- What earlier calls left, after the locks of the person, if `locks`: the recorded answer of `digest` since
-- `since` (NULL: ask for none), and the choices of the identity that have not ended at `at`. Always one row.
CREATE FUNCTION provisioning_earlier(locks boolean, identities bytea, addresses bytea, wanted bytea,
    since timestamptz, at timestamptz)
RETURNS TABLE (tenant uuid, decision uuid, answer text, reference text, recorded text,
    pending uuid[], declined uuid[], declined_at timestamptz[])
    LANGUAGE plpgsql AS $$
DECLARE keys bytea[] := person_keys(identities);
BEGIN
    IF locks THEN PERFORM lock_people(identities, addresses); END IF;
    SELECT r.tenant_id, r.decision_id, r.answer, r.reference, r.recorded::text
        INTO tenant, decision, answer, reference, recorded
        FROM provisioning_retries r WHERE r.digest = wanted AND r.created_at > since;
    SELECT coalesce(array_agg(c.tenant_id) FILTER (WHERE c.declined_at IS NULL), '{}'),
            coalesce(array_agg(c.tenant_id) FILTER (WHERE c.declined_at IS NOT NULL), '{}'),
            coalesce(array_agg(c.declined_at) FILTER (WHERE c.declined_at IS NOT NULL), '{}')
        INTO pending, declined, declined_at
        FROM pending_choices c WHERE c.identity = ANY (keys) AND c.expires_at > at;
    RETURN NEXT;
END $$;
GRANT EXECUTE ON FUNCTION lock_people(bytea, bytea),
    provisioning_earlier(boolean, bytea, bytea, bytea, timestamptz, timestamptz) TO gatehouse_app;
