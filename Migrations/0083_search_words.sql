-- A text of several words is met by each of them, in any order: patterns that begin with % must all match. Two that do
-- not are the beginnings of one short word, of which one must. Otherwise the functions are as they were.
CREATE OR REPLACE FUNCTION search_fetch(listing text, tenant uuid, patterns text[], by text,
    after_at timestamptz, after_text text, after_id uuid, most integer) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    direction text := CASE WHEN left(by, 1) = '-' THEN 'DESC' ELSE 'ASC' END;
    behind text := CASE WHEN left(by, 1) = '-' THEN '<' ELSE '>' END;
    place text := CASE listing WHEN 'users' THEN 'user_search' WHEN 'api_keys' THEN 'api_keys'
        WHEN 'invites' THEN 'invites' END;
    key text := CASE listing WHEN 'users' THEN 'user_id' ELSE 'id' END;
    content text := CASE listing WHEN 'users' THEN 'content' WHEN 'api_keys' THEN 'name_key'
        ELSE 'email_key' END;
    ranked text := CASE listing WHEN 'users' THEN 'split_part(u.content, '' '', 1)'
        ELSE 'u.' || content END;
    matching text := format('u.%I LIKE ($2)[1]', content);
    following text := '';
    ordered text := '';
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    IF cardinality(patterns) > 1 AND left(patterns[1], 1) <> '%' THEN
        matching := format('(u.%1$I LIKE ($2)[1] OR u.%1$I LIKE ($2)[2])', content);
    ELSIF cardinality(patterns) > 1 THEN
        SELECT string_agg(format('u.%I LIKE ($2)[%s]', content, n), ' AND ') INTO matching
            FROM generate_series(1, cardinality(patterns)) AS n;
    END IF;
    IF ltrim(by, '-') = 'created_at' THEN
        ranked := 'u.created_at';
    END IF;
    IF by <> '' THEN
        ordered := format(' ORDER BY %1$s %2$s, u.%3$I %2$s', ranked, direction, key);
        IF after_id IS NOT NULL THEN
            following := format(' AND (%s, u.%I) %s (%s, $5)', ranked, key, behind,
                CASE WHEN ranked = 'u.created_at' THEN '$3' ELSE '$4' END);
        END IF;
    END IF;
    RETURN QUERY EXECUTE format('SELECT u.%I FROM %I u WHERE u.tenant_id = $1 AND ', key, place)
        || matching || following || ordered || ' LIMIT $6'
        USING tenant, patterns, after_at, after_text, after_id, most;
END $$;
-- then
CREATE OR REPLACE FUNCTION search_matches(listing text, tenant uuid, patterns text[], most integer)
RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE sampled integer; hits uuid[]; every boolean := left(patterns[1], 1) = '%';
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    IF listing = 'users' THEN
        SELECT count(*), array_agg(s.id) FILTER (WHERE CASE WHEN every THEN s.content LIKE ALL (patterns)
            ELSE s.content LIKE ANY (patterns) END)
        INTO sampled, hits
        FROM (SELECT u.user_id AS id, u.content FROM user_search u WHERE u.tenant_id = tenant
              ORDER BY u.user_id LIMIT 5000) AS s;
    ELSIF listing = 'api_keys' THEN
        SELECT count(*), array_agg(s.id) FILTER (WHERE CASE WHEN every THEN s.content LIKE ALL (patterns)
            ELSE s.content LIKE ANY (patterns) END)
        INTO sampled, hits
        FROM (SELECT k.id, k.name_key AS content FROM api_keys k WHERE k.tenant_id = tenant
              ORDER BY k.id LIMIT 5000) AS s;
    ELSE
        SELECT count(*), array_agg(s.id) FILTER (WHERE CASE WHEN every THEN s.content LIKE ALL (patterns)
            ELSE s.content LIKE ANY (patterns) END)
        INTO sampled, hits
        FROM (SELECT i.id, i.email_key AS content FROM invites i WHERE i.tenant_id = tenant
              ORDER BY i.id LIMIT 5000) AS s;
    END IF;
    IF sampled = 5000 THEN
        IF cardinality(hits) > 25 THEN
            RETURN NEXT NULL;
            RETURN QUERY SELECT unnest(hits[:500]);
            RETURN;
        ELSE
            SELECT array_agg(f) INTO hits FROM search_fetch(
                listing, tenant, patterns, '', NULL, NULL, NULL, most + 1) AS f;
        END IF;
    END IF;
    IF cardinality(hits) > most THEN
        RETURN NEXT NULL;
        hits := hits[:500];
    END IF;
    RETURN QUERY SELECT unnest(hits);
END $$;
