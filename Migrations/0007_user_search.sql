-- kind: directory. Forced row-level security switches trigram indexes off, so the search text
-- stands in a table without grants, behind a function that takes the tenant as an argument.
CREATE TABLE user_search (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    content text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
CREATE INDEX user_search_content ON user_search USING gin (tenant_id, content gin_trgm_ops);
CREATE INDEX user_search_prefix ON user_search (tenant_id, content text_pattern_ops);
-- content: lower-case email key, a space, lower-case name.
CREATE FUNCTION user_search_put(wanted uuid, text_of text, since timestamptz) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ INSERT INTO user_search SELECT current_tenant(), wanted, text_of, since
              WHERE current_tenant() IS NOT NULL
          ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content $$;
CREATE FUNCTION user_search_drop(wanted uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM user_search WHERE tenant_id = current_tenant() AND user_id = wanted $$;
-- pattern: a LIKE pattern with its wildcards already escaped by the caller.
CREATE FUNCTION user_search_find(tenant uuid, pattern text, most integer) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    RETURN QUERY SELECT user_id FROM user_search
        WHERE tenant_id = tenant AND content LIKE pattern LIMIT most;
END $$;
GRANT EXECUTE ON FUNCTION user_search_put(uuid, text, timestamptz), user_search_drop(uuid),
    user_search_find(uuid, text, integer) TO gatehouse_app;
