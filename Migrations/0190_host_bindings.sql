-- A tenant binds a host only at or below a domain that it has verified, and the binding stands only
-- while it has that domain; a binding by the platform's word stands until it is released.
ALTER TABLE directory_hosts ADD COLUMN by_platform boolean NOT NULL DEFAULT false;

-- host: with a port perhaps.
CREATE FUNCTION directory_host_stands(tenant uuid, host text, by_platform boolean) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT by_platform OR origin_wildcard_stands(tenant, split_part(host, ':', 1)) $$;

DROP FUNCTION directory_claim_host(text, text);
-- False: another tenant or another client holds the host. A binding that no longer stands gives way.
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

DROP FUNCTION directory_release_host(text);
CREATE FUNCTION directory_release_host(wanted text, client_of text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_hosts WHERE host = wanted AND tenant_id = current_tenant()
          AND client = client_of $$;

CREATE OR REPLACE FUNCTION directory_client_by_host(wanted text[])
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
CREATE INDEX directory_hosts_by_tenant ON directory_hosts (tenant_id);

GRANT EXECUTE ON FUNCTION directory_claim_host(text, text, boolean),
    directory_release_host(text, text), directory_bound_hosts() TO gatehouse_app;
