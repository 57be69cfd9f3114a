-- kind: directory. A slug and a locator outlive their tenant: neither is given to another one, and an
-- old key's secret is not looked up in another one.
CREATE TABLE directory_slugs (slug text PRIMARY KEY, tenant_id uuid NOT NULL);
CREATE TABLE directory_locators (locator text PRIMARY KEY, tenant_id uuid NOT NULL);
CREATE TABLE directory_domains (domain text PRIMARY KEY, tenant_id uuid NOT NULL);

CREATE FUNCTION directory_tenant_by_slug(wanted text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM directory_slugs WHERE slug = wanted $$;
CREATE FUNCTION directory_tenant_by_locator(wanted text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM directory_locators WHERE locator = wanted $$;
CREATE FUNCTION directory_tenant_by_domain(wanted text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM directory_domains WHERE domain = wanted $$;

-- A writer may claim only for the tenant of its own transaction. False: another tenant holds it.
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
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_domains WHERE domain = wanted AND tenant_id = current_tenant() $$;
GRANT EXECUTE ON FUNCTION directory_tenant_by_slug(text), directory_tenant_by_locator(text),
    directory_tenant_by_domain(text), directory_claim(text, text), directory_release_domain(text)
    TO gatehouse_app;
-- The look-up of a key is two plain statements of the platform role, the first of them by the locator: a
-- function that did all of it cost three times as much.
GRANT EXECUTE ON FUNCTION directory_tenant_by_locator(text) TO gatehouse_platform;

-- kind: directory. key: the name of the secret key (4 bytes) and an HMAC (32 bytes) of an email key or of
-- an identity.
CREATE TABLE directory_people (
    key bytea NOT NULL,
    tenant_id uuid NOT NULL,
    PRIMARY KEY (key, tenant_id)
);
-- For the purge of a tenant: nothing else asks this large table by tenant alone.
CREATE INDEX directory_people_by_tenant ON directory_people (tenant_id);

-- While the secret key is being replaced callers pass two keys of 36 bytes in one value: first the one to
-- write.
CREATE FUNCTION person_keys(wanted bytea) RETURNS bytea[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT coalesce(array_agg(substring(wanted FROM start FOR 36)), '{}')
          FROM generate_series(1, length(wanted), 36) AS start $$;
CREATE FUNCTION directory_tenants_of(wanted bytea) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT DISTINCT tenant_id FROM directory_people WHERE key = ANY (person_keys(wanted))
          ORDER BY tenant_id $$;
CREATE FUNCTION directory_add_person(wanted bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ INSERT INTO directory_people SELECT substring(wanted FOR 36), current_tenant()
          WHERE current_tenant() IS NOT NULL ON CONFLICT DO NOTHING $$;
CREATE FUNCTION directory_remove_person(wanted bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_people
          WHERE key = ANY (person_keys(wanted)) AND tenant_id = current_tenant() $$;

-- A replacement of the secret key adds the new keys of one tenant, then keeps only those of `ids`.
CREATE FUNCTION directory_add_people(wanted bytea[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ INSERT INTO directory_people SELECT substring(key FOR 36), current_tenant()
          FROM unnest(wanted) AS key WHERE current_tenant() IS NOT NULL ON CONFLICT DO NOTHING $$;
CREATE FUNCTION directory_keep_people(ids bytea[]) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ WITH gone AS (DELETE FROM directory_people WHERE tenant_id = current_tenant()
              AND NOT substring(key FOR 4) = ANY (ids) RETURNING 1)
          SELECT count(*) FROM gone $$;
-- The number of rows that one secret key made, up to `most`.
CREATE FUNCTION directory_people_under(id bytea, most bigint) RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT count(*) FROM (SELECT 1 FROM directory_people WHERE key >= id
              AND key < id || decode(repeat('ff', 33), 'hex') LIMIT most) AS found $$;
-- Whether a secret key other than these made a row.
CREATE FUNCTION directory_people_elsewhere(ids bytea[]) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT EXISTS (SELECT 1 FROM directory_people
              WHERE NOT substring(key FOR 4) = ANY (ids)) $$;
GRANT EXECUTE ON FUNCTION person_keys(bytea), directory_tenants_of(bytea), directory_add_person(bytea),
    directory_remove_person(bytea), directory_add_people(bytea[]), directory_keep_people(bytea[]),
    directory_people_under(bytea, bigint), directory_people_elsewhere(bytea[]) TO gatehouse_app;

-- kind: directory. The hosts at which clients of tenants answer. A tenant binds a host only at or below a
-- domain that it has verified, and the binding is valid only while the tenant has that domain; a binding
-- by the platform is valid until it is released.
CREATE TABLE directory_hosts (
    host text PRIMARY KEY,
    tenant_id uuid NOT NULL,
    client text NOT NULL,
    by_platform boolean NOT NULL DEFAULT false
);
CREATE INDEX directory_hosts_by_tenant ON directory_hosts (tenant_id);

-- host: with or without a port.
CREATE FUNCTION directory_host_stands(tenant uuid, host text, by_platform boolean) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT by_platform OR origin_wildcard_stands(tenant, split_part(host, ':', 1)) $$;

-- False: another tenant or another client holds the host. A binding that is no longer valid gives way.
CREATE FUNCTION directory_claim_host(wanted text, client_of text, on_platforms_word boolean)
RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant(); held boolean;
BEGIN
    IF mine IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    DELETE FROM directory_hosts h WHERE h.host = wanted
        AND NOT directory_host_stands(h.tenant_id, h.host, h.by_platform);
    INSERT INTO directory_hosts (host, tenant_id, client, by_platform)
        VALUES (wanted, mine, client_of, on_platforms_word) ON CONFLICT DO NOTHING;
    SELECT h.tenant_id = mine AND h.client = client_of INTO held
        FROM directory_hosts h WHERE h.host = wanted;
    RETURN coalesce(held, false);
END $$;
CREATE FUNCTION directory_release_host(wanted text, client_of text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_hosts WHERE host = wanted AND tenant_id = current_tenant()
          AND client = client_of $$;
-- wanted: the host with its port, then without; the first that is bound counts.
CREATE FUNCTION directory_client_by_host(wanted text[])
RETURNS TABLE (tenant_id uuid, client text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT h.tenant_id, h.client FROM directory_hosts h WHERE h.host = ANY (wanted)
              AND directory_host_stands(h.tenant_id, h.host, h.by_platform)
          ORDER BY array_position(wanted, h.host) LIMIT 1 $$;
-- The hosts at which the current tenant's clients answer.
CREATE FUNCTION directory_bound_hosts() RETURNS TABLE (client text, host text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT h.client, h.host FROM directory_hosts h WHERE h.tenant_id = current_tenant()
              AND directory_host_stands(h.tenant_id, h.host, h.by_platform) $$;
GRANT EXECUTE ON FUNCTION directory_claim_host(text, text, boolean),
    directory_release_host(text, text), directory_client_by_host(text[]), directory_bound_hosts()
    TO gatehouse_app;
