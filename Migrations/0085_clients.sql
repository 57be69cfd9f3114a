-- kind: tenant. A client contract switched on for a tenant. A host is unique in the whole server,
-- so it stands in the directory; here it is kept beside the client for reading.
CREATE TABLE clients (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    enabled boolean NOT NULL,
    hosts text[] NOT NULL DEFAULT '{}',
    redirect_uris text[] NOT NULL DEFAULT '{}',
    settings jsonb NOT NULL DEFAULT '{}',
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

ALTER TABLE clients ENABLE ROW LEVEL SECURITY;
ALTER TABLE clients FORCE ROW LEVEL SECURITY;
CREATE POLICY clients_tenant ON clients USING (tenant_id = current_tenant());
CREATE POLICY clients_platform ON clients FOR SELECT TO gatehouse_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON clients TO gatehouse_app;
GRANT SELECT ON clients TO gatehouse_platform;

-- False: another tenant or another client holds the host.
CREATE FUNCTION directory_claim_host(wanted text, client_of text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE mine uuid := current_tenant(); held boolean;
BEGIN
    IF mine IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    INSERT INTO directory_hosts VALUES (wanted, mine, client_of) ON CONFLICT DO NOTHING;
    SELECT h.tenant_id = mine AND h.client = client_of INTO held
        FROM directory_hosts h WHERE h.host = wanted;
    RETURN coalesce(held, false);
END $$;
CREATE FUNCTION directory_release_host(wanted text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_hosts WHERE host = wanted AND tenant_id = current_tenant() $$;
-- wanted: the host with its port, then without: the first that is bound.
CREATE FUNCTION directory_client_by_host(wanted text[])
RETURNS TABLE (tenant_id uuid, client text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT h.tenant_id, h.client FROM directory_hosts h WHERE h.host = ANY (wanted)
          ORDER BY array_position(wanted, h.host) LIMIT 1 $$;
GRANT EXECUTE ON FUNCTION directory_claim_host(text, text), directory_release_host(text),
    directory_client_by_host(text[]) TO gatehouse_app;
