-- What a tenant's sign-in, invite and join pages wear.
ALTER TABLE tenants
    ADD COLUMN appearance_name text CHECK (char_length(appearance_name) BETWEEN 1 AND 64),
    ADD COLUMN appearance_accent text CHECK (appearance_accent ~ '^#[0-9a-f]{6}$'),
    ADD COLUMN logo_hash text CHECK (logo_hash ~ '^[0-9a-f]{64}$');

-- kind: directory. The logos, open to all who see a sign-in page, by the SHA-256 of their content.
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
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ INSERT INTO directory_logos SELECT wanted, current_tenant(), type_of, bytes WHERE current_tenant() IS NOT NULL
          ON CONFLICT (tenant_id) DO UPDATE
          SET hash = excluded.hash, media_type = excluded.media_type, content = excluded.content $$;
CREATE FUNCTION directory_drop_logo() RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_logos WHERE tenant_id = current_tenant() $$;
GRANT EXECUTE ON FUNCTION directory_logo(text), directory_put_logo(text, text, bytea), directory_drop_logo()
    TO gatehouse_app;
