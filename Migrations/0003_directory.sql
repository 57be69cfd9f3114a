-- kind: directory. What must be found before the tenant is known: ids only, exact match only,
-- no grant to any role; reached through the functions below.
CREATE TABLE directory_slugs (slug text PRIMARY KEY, tenant_id uuid NOT NULL);
CREATE TABLE directory_locators (locator text PRIMARY KEY, tenant_id uuid NOT NULL);
CREATE TABLE directory_hosts (host text PRIMARY KEY, tenant_id uuid NOT NULL, client text NOT NULL);
CREATE TABLE directory_domains (domain text PRIMARY KEY, tenant_id uuid NOT NULL);
-- key: HMAC of an email key, or the hash of an identity.
CREATE TABLE directory_people (
    key bytea NOT NULL,
    tenant_id uuid NOT NULL,
    PRIMARY KEY (key, tenant_id)
);

CREATE FUNCTION directory_tenant_by_slug(wanted text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM directory_slugs WHERE slug = wanted $$;
CREATE FUNCTION directory_tenant_by_locator(wanted text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM directory_locators WHERE locator = wanted $$;
CREATE FUNCTION directory_tenant_by_domain(wanted text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM directory_domains WHERE domain = wanted $$;
CREATE FUNCTION directory_tenants_of(wanted bytea) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM directory_people WHERE key = wanted ORDER BY tenant_id $$;

-- A writer may claim only for the tenant of its own transaction. False: another holds it.
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
CREATE FUNCTION directory_add_person(wanted bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ INSERT INTO directory_people SELECT wanted, current_tenant() WHERE current_tenant() IS NOT NULL
          ON CONFLICT DO NOTHING $$;
CREATE FUNCTION directory_remove_person(wanted bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_people WHERE key = wanted AND tenant_id = current_tenant() $$;
GRANT EXECUTE ON FUNCTION directory_tenant_by_slug(text), directory_tenant_by_locator(text),
    directory_tenant_by_domain(text), directory_tenants_of(bytea), directory_claim(text, text),
    directory_release_domain(text), directory_add_person(bytea), directory_remove_person(bytea)
    TO gatehouse_app;
