-- The search table's key carries the text, so that a sample of a tenant is a walk of one index.
ALTER TABLE user_search DROP CONSTRAINT user_search_pkey;
ALTER TABLE user_search ADD PRIMARY KEY (tenant_id, user_id) INCLUDE (content);
DROP INDEX user_search_prefix;

-- By the trigrams whatever the planner thinks of the pattern. by: 'created_at' or 'email', with
-- a minus for the last first, or '' for any order; after: the place to start behind, or NULLs.
CREATE FUNCTION user_search_fetch(tenant uuid, patterns text[], by text, after_at timestamptz,
    after_email text, after_id uuid, most integer) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    direction text := CASE WHEN left(by, 1) = '-' THEN 'DESC' ELSE 'ASC' END;
    behind text := CASE WHEN left(by, 1) = '-' THEN '<' ELSE '>' END;
    matching text := 'u.content LIKE ($2)[1]';
    following text := '';
    ordered text := '';
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    IF cardinality(patterns) > 1 THEN
        matching := '(u.content LIKE ($2)[1] OR u.content LIKE ($2)[2])';
    END IF;
    IF ltrim(by, '-') = 'created_at' THEN
        ordered := format(' ORDER BY u.created_at %1$s, u.user_id %1$s', direction);
        IF after_at IS NOT NULL THEN
            following := format(' AND (u.created_at, u.user_id) %s ($3, $5)', behind);
        END IF;
    ELSIF ltrim(by, '-') = 'email' THEN
        ordered := format(
            ' ORDER BY split_part(u.content, '' '', 1) %1$s, u.user_id %1$s', direction);
        IF after_email IS NOT NULL THEN
            following := format(
                ' AND (split_part(u.content, '' '', 1), u.user_id) %s ($4, $5)', behind);
        END IF;
    END IF;
    RETURN QUERY EXECUTE 'SELECT u.user_id FROM user_search u WHERE u.tenant_id = $1 AND '
        || matching || following || ordered || ' LIMIT $6'
        USING tenant, patterns, after_at, after_email, after_id, most;
END $$;

-- Ids are random, so the first by id are a sample. A text that more than one of 200 have is
-- frequent: the sample's own matches come back, behind a NULL that says that there are more. So
-- is one that has more than `most` matches. In a small tenant the sample is everybody.
CREATE OR REPLACE FUNCTION user_search_matches(tenant uuid, patterns text[], most integer)
RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE sampled integer; hits uuid[];
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    SELECT count(*), array_agg(s.user_id) FILTER (WHERE s.content LIKE ANY (patterns))
    INTO sampled, hits
    FROM (SELECT u.user_id, u.content FROM user_search u WHERE u.tenant_id = tenant
          ORDER BY u.user_id LIMIT 5000) AS s;
    IF sampled = 5000 THEN
        IF cardinality(hits) > 25 THEN
            RETURN NEXT NULL;
        ELSE
            SELECT array_agg(f) INTO hits
            FROM user_search_fetch(tenant, patterns, '', NULL, NULL, NULL, most + 1) AS f;
        END IF;
    END IF;
    IF cardinality(hits) > most THEN
        RETURN NEXT NULL;
        hits := hits[:most];
    END IF;
    RETURN QUERY SELECT unnest(hits);
END $$;
GRANT EXECUTE ON FUNCTION user_search_fetch(uuid, text[], text, timestamptz, text, uuid, integer)
    TO gatehouse_app;
