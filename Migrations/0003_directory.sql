-- The directory finds the tenant of a request: by a slug in the path, by the locator of an API key, by the domain of an
-- address, by the host, or by who the person is. Each table is of the kind `directory`, so no role has a grant on it.
-- A function that writes does so only for the tenant of its own transaction.

-- kind: directory. A slug and a locator outlive their tenant. No other tenant ever gets them, so that an old link or
-- an old key never leads to another tenant.
CREATE TABLE directory_slugs (slug text PRIMARY KEY, tenant_id uuid NOT NULL);
CREATE TABLE directory_locators (locator text PRIMARY KEY, tenant_id uuid NOT NULL);
CREATE TABLE directory_domains (domain text PRIMARY KEY, tenant_id uuid NOT NULL);

CREATE FUNCTION directory_tenant_by_slug(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_slugs WHERE slug = wanted); END $$;
CREATE FUNCTION directory_tenant_by_locator(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_locators WHERE locator = wanted); END $$;
CREATE FUNCTION directory_tenant_by_domain(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_domains WHERE domain = wanted); END $$;
-- Claims a slug, a locator or a domain. False: another tenant has it.
CREATE FUNCTION directory_claim(kind text, wanted text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE holder uuid; mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    CASE kind
    WHEN 'slug' THEN
        INSERT INTO directory_slugs VALUES (wanted, mine) ON CONFLICT DO NOTHING;
        SELECT tenant_id INTO holder FROM directory_slugs WHERE slug = wanted;
    WHEN 'locator' THEN
        INSERT INTO directory_locators VALUES (wanted, mine) ON CONFLICT DO NOTHING;
        SELECT tenant_id INTO holder FROM directory_locators WHERE locator = wanted;
    WHEN 'domain' THEN
        INSERT INTO directory_domains VALUES (wanted, mine) ON CONFLICT DO NOTHING;
        SELECT tenant_id INTO holder FROM directory_domains WHERE domain = wanted;
    END CASE;
    RETURN holder = mine;
END $$;
CREATE FUNCTION directory_release_domain(wanted text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_domains WHERE domain = wanted AND tenant_id = mine;
END $$;
GRANT EXECUTE ON FUNCTION directory_tenant_by_slug(text), directory_tenant_by_locator(text),
    directory_tenant_by_domain(text), directory_claim(text, text), directory_release_domain(text) TO gatehouse_app;
-- The look-up of an API key is two plain statements of the platform's role, and the first of them uses the locator. One
-- function for all of it took three times as long.
GRANT EXECUTE ON FUNCTION directory_tenant_by_locator(text) TO gatehouse_platform;

-- Claims the id that the tenant has in the platform's own system; NULL: it has none. False: another tenant has it. On
-- one server the unique index on tenants decides, so there is nothing to do here; distributed/ has another body.
CREATE FUNCTION directory_claim_external_id(wanted text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN true;
END $$;
GRANT EXECUTE ON FUNCTION directory_claim_external_id(text) TO gatehouse_app;

-- kind: directory. Who is known in which tenants. key: the id of the secret key (4 bytes), then an HMAC (32 bytes) of
-- an address or of an identity.
CREATE TABLE directory_people (
    key bytea NOT NULL,
    tenant_id uuid NOT NULL,
    PRIMARY KEY (key, tenant_id)
);
-- For the purge of a tenant. Nothing else asks this large table by the tenant alone.
CREATE INDEX directory_people_by_tenant ON directory_people (tenant_id);

-- Splits a value into its keys of 36 bytes. While the secret key is replaced, callers pass two keys in one value, first
-- the one to write.
CREATE FUNCTION person_keys(wanted bytea) RETURNS bytea[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE keys bytea[] := '{}';
BEGIN
    FOR start IN 1 .. coalesce(length(wanted), 0) BY 36 LOOP
        keys := keys || substring(wanted FROM start FOR 36);
    END LOOP;
    RETURN keys;
END $$;
CREATE FUNCTION directory_tenants_of(wanted bytea) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE keys bytea[] := person_keys(wanted);
BEGIN
    RETURN QUERY SELECT DISTINCT tenant_id FROM directory_people WHERE key = ANY (keys)
        ORDER BY tenant_id;
END $$;
CREATE FUNCTION directory_add_person(wanted bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_people VALUES (substring(wanted FOR 36), mine) ON CONFLICT DO NOTHING;
END $$;
CREATE FUNCTION directory_remove_person(wanted bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant(); keys bytea[] := person_keys(wanted);
BEGIN
    -- The keys lead to few rows, the tenant to all of its people: this is never looked up in an index.
    DELETE FROM directory_people WHERE key = ANY (keys) AND tenant_id IS NOT DISTINCT FROM mine;
END $$;
-- A replacement of the secret key first adds the new keys of one tenant, then removes those of other secret keys than
-- `ids`.
CREATE FUNCTION directory_add_people(wanted bytea[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_people SELECT substring(key FOR 36), mine FROM unnest(wanted) AS key
        ON CONFLICT DO NOTHING;
END $$;
CREATE FUNCTION directory_keep_people(ids bytea[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant(); removed bigint;
BEGIN
    DELETE FROM directory_people WHERE tenant_id = mine AND NOT substring(key FOR 4) = ANY (ids);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;
-- The number of rows that one secret key made, up to `most`.
CREATE FUNCTION directory_people_under(id bytea, most bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE past bytea := id || decode(repeat('ff', 33), 'hex');
BEGIN
    RETURN (SELECT count(*) FROM (SELECT 1 FROM directory_people WHERE key >= id AND key < past LIMIT most) AS found);
END $$;
-- Whether a secret key other than these made a row.
CREATE FUNCTION directory_people_elsewhere(ids bytea[]) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM directory_people WHERE NOT substring(key FOR 4) = ANY (ids));
END $$;
GRANT EXECUTE ON FUNCTION person_keys(bytea), directory_tenants_of(bytea), directory_add_person(bytea),
    directory_remove_person(bytea), directory_add_people(bytea[]), directory_keep_people(bytea[]),
    directory_people_under(bytea, bigint), directory_people_elsewhere(bytea[]) TO gatehouse_app;

-- kind: directory. The hosts at which the clients of tenants answer. A tenant binds only a host at or below a domain
-- that it has verified, and the binding is valid only as long as the tenant has that domain. The platform's bindings
-- are valid until they are released.
CREATE TABLE directory_hosts (
    host text PRIMARY KEY,
    tenant_id uuid NOT NULL,
    client text NOT NULL,
    by_platform boolean NOT NULL DEFAULT false
);
CREATE INDEX directory_hosts_by_tenant ON directory_hosts (tenant_id);

-- Whether a binding is valid. host: with or without a port.
CREATE FUNCTION directory_host_stands(tenant uuid, host text, by_platform boolean) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN by_platform OR origin_wildcard_stands(tenant, split_part(host, ':', 1));
END $$;
-- Binds a host. False: another tenant or another client has it. A binding that is no longer valid is replaced.
CREATE FUNCTION directory_claim_host(wanted text, client_of text, on_platforms_word boolean)
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
CREATE FUNCTION directory_release_host(wanted text, client_of text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_hosts h WHERE h.host = wanted AND h.tenant_id = mine AND h.client = client_of;
END $$;
-- wanted: the host with its port, then without; the first that is bound counts.
CREATE FUNCTION directory_client_by_host(wanted text[]) RETURNS TABLE (tenant_id uuid, client text)
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
-- The hosts at which the clients of the current tenant answer.
CREATE FUNCTION directory_bound_hosts() RETURNS TABLE (client text, host text)
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
GRANT EXECUTE ON FUNCTION directory_claim_host(text, text, boolean), directory_release_host(text, text),
    directory_client_by_host(text[]), directory_bound_hosts() TO gatehouse_app;

-- kind: directory. The logos of tenants, each under the SHA-256 of its content. Everybody who sees a sign-in page may
-- read it.
CREATE TABLE directory_logos (
    hash text NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    tenant_id uuid NOT NULL UNIQUE,
    media_type text NOT NULL CHECK (media_type IN ('image/png', 'image/svg+xml')),
    content bytea NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 20480),
    PRIMARY KEY (hash, tenant_id)
);
CREATE FUNCTION directory_logo(wanted text) RETURNS TABLE (media_type text, content bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT l.media_type, l.content FROM directory_logos l WHERE l.hash = wanted LIMIT 1 $$;
CREATE FUNCTION directory_put_logo(wanted text, type_of text, bytes bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_logos VALUES (wanted, mine, type_of, bytes)
        ON CONFLICT (tenant_id) DO UPDATE
        SET hash = excluded.hash, media_type = excluded.media_type, content = excluded.content;
END $$;
CREATE FUNCTION directory_drop_logo() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_logos WHERE tenant_id = mine;
END $$;
GRANT EXECUTE ON FUNCTION directory_logo(text), directory_put_logo(text, text, bytea), directory_drop_logo()
    TO gatehouse_app;

-- kind: directory. The ids that imports by the platform gave to users because the file named them. Each is used once
-- over all tenants, and never again. No tenant stands beside it, because neither an undo nor a purge gives it back.
CREATE TABLE directory_claimed_ids (id uuid PRIMARY KEY);

-- Claims the ids, and returns those that nobody had claimed. It waits for a claim that is not committed yet. It claims
-- in the order of the ids, so that two imports never wait for each other.
CREATE FUNCTION directory_claim_ids(wanted uuid[]) RETURNS SETOF uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF current_tenant() IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    RETURN QUERY INSERT INTO directory_claimed_ids AS t
        SELECT DISTINCT w.id FROM unnest(wanted) AS w (id) ORDER BY w.id
        ON CONFLICT DO NOTHING RETURNING t.id;
END $$;
GRANT EXECUTE ON FUNCTION directory_claim_ids(uuid[]) TO gatehouse_app;

-- The ids among `wanted` that something in any tenant has or had: users, also those who were merged into others, and
-- the targets of audit events, which stay when the targets go. It does without sequential scans, because the statistics
-- of a table are old while an import fills it.
CREATE FUNCTION ids_known(wanted text[]) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY SELECT u.id::text FROM users u WHERE u.id::text = ANY (wanted)
        UNION SELECT e.target_id FROM audit_events e WHERE e.target_id = ANY (wanted) AND e.occurred_at > '-infinity';
END $$;
GRANT EXECUTE ON FUNCTION ids_known(text[]) TO gatehouse_platform;
