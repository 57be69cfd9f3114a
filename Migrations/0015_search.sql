-- Search by parts of words in users, API keys and invites. A search in a million rows must be cheap whatever it asks
-- for. Forced row-level security switches trigram indexes off. So the text of users is in a table without grants, and
-- the functions run as the owner of the schema, who may read api_keys and invites across tenants. Each takes the tenant
-- as an argument and compares it with the transaction's.

-- kind: directory. content: the email key in lower case, a space, the name in lower case.
CREATE TABLE user_search (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    content text NOT NULL,
    created_at timestamptz NOT NULL,
    -- The primary key contains the text, so that a sample of a tenant is a walk of one index.
    PRIMARY KEY (tenant_id, user_id) INCLUDE (content)
);
CREATE INDEX user_search_content ON user_search USING gin (tenant_id, content gin_trgm_ops);

CREATE FUNCTION user_search_put(tenant uuid, wanted uuid, text_of text, since timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    INSERT INTO user_search VALUES (tenant, wanted, text_of, since)
        ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content;
END $$;
CREATE FUNCTION user_search_put_all(tenant uuid, wanted uuid[], texts text[], since timestamptz[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    INSERT INTO user_search
        SELECT tenant, u.id, u.content, u.at FROM unnest(wanted, texts, since) AS u (id, content, at)
        ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content;
END $$;
CREATE FUNCTION user_search_drop(tenant uuid, wanted uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    DELETE FROM user_search WHERE tenant_id = tenant AND user_id = wanted;
END $$;
GRANT EXECUTE ON FUNCTION user_search_put(uuid, uuid, text, timestamptz),
    user_search_put_all(uuid, uuid[], text[], timestamptz[]), user_search_drop(uuid, uuid) TO gatehouse_app;

-- Finds matches by the trigram index, whatever the planner estimates for the patterns: its estimate is too coarse.
-- listing: 'users', 'api_keys' or 'invites'. patterns: LIKE patterns with their wildcards escaped by the caller.
-- Patterns that begin with % are words, and all must match; two that do not are the beginnings of one short word, and
-- one must. by: 'created_at' or 'text' (the address of a user, the name of a key, the address of an invite), with a
-- minus for descending order, or '' for any order. after_…: the position behind which to start, or NULL.
CREATE FUNCTION search_fetch(listing text, tenant uuid, patterns text[], by text,
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

-- Returns all matches, if there are at most `most`. Otherwise it returns NULL, then up to 500 of them. Ids are random,
-- so the first 5,000 by id are a sample. A text that more than one of 200 rows has is frequent, and a walk of the list
-- finds a page of it soon: then the matches are only the sample's, also behind a NULL. In a small tenant the sample is
-- everything.
CREATE FUNCTION search_matches(listing text, tenant uuid, patterns text[], most integer)
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
GRANT EXECUTE ON FUNCTION search_fetch(text, uuid, text[], text, timestamptz, text, uuid, integer),
    search_matches(text, uuid, text[], integer) TO gatehouse_app;

-- Users of all tenants, for the platform's role alone; all patterns must match. A sample says whether the matches are
-- frequent. If so, the sample has enough of them; if not, the trigram index finds them by the pattern that the sample
-- has least often.
CREATE FUNCTION search_people(patterns text[], most integer) RETURNS TABLE (tenant_id uuid, user_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    -- The part of the table, in per cent, that has about 5,000 rows.
    share double precision := least(100, 500000.0 / greatest(rows_about('public.user_search'), 1));
    pattern text;
    rarest text;
    hits bigint;
    least_hits bigint;
BEGIN
    SELECT count(*) INTO hits FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
        WHERE u.content LIKE ALL (patterns);
    IF hits > 25 THEN
        RETURN QUERY SELECT u.tenant_id, u.user_id FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
            WHERE u.content LIKE ALL (patterns) LIMIT most;
        RETURN;
    END IF;
    FOREACH pattern IN ARRAY patterns LOOP
        CONTINUE WHEN pattern !~ '[[:alnum:]]{3}';
        SELECT count(*) INTO hits FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
            WHERE u.content LIKE pattern;
        IF rarest IS NULL OR hits < least_hits OR (hits = least_hits AND length(pattern) > length(rarest)) THEN
            rarest := pattern;
            least_hits := hits;
        END IF;
    END LOOP;
    -- The index takes one pattern; ALL it does not.
    RETURN QUERY SELECT u.tenant_id, u.user_id FROM user_search u
        WHERE u.content LIKE rarest AND u.content LIKE ALL (patterns) LIMIT most;
END $$;
GRANT EXECUTE ON FUNCTION search_people(text[], integer) TO gatehouse_platform;
