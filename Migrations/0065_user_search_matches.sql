-- A search of a million users must cost little whatever it asks for. Ids are random, so the first
-- rows by id are a sample: a text that many of them have is frequent, and the first `most` matches
-- are found soon by reading on; any other is fetched by its trigrams. The planner's own estimate
-- of a pattern is too coarse for that choice.
-- patterns: LIKE patterns with their wildcards already escaped by the caller; any may match.
-- More than `most` - 1 rows come back: there may be further ones.
CREATE FUNCTION user_search_matches(tenant uuid, patterns text[], most integer) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET plan_cache_mode = 'force_custom_plan' AS $$
DECLARE seen integer; hits integer;
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    SELECT count(*), count(*) FILTER (WHERE s.content LIKE ANY (patterns)) INTO seen, hits
    FROM (SELECT u.content FROM user_search u WHERE u.tenant_id = tenant
          ORDER BY u.user_id LIMIT 2000) AS s;
    IF hits > seen / 50 THEN
        RETURN QUERY SELECT s.user_id FROM
            (SELECT u.user_id, u.content FROM user_search u WHERE u.tenant_id = tenant
             ORDER BY u.user_id) AS s
            WHERE s.content LIKE ANY (patterns) LIMIT most;
    ELSIF cardinality(patterns) = 1 THEN
        RETURN QUERY SELECT u.user_id FROM user_search u
            WHERE u.tenant_id = tenant AND u.content LIKE patterns[1] LIMIT most;
    ELSE
        RETURN QUERY SELECT u.user_id FROM user_search u
            WHERE u.tenant_id = tenant AND (u.content LIKE patterns[1] OR u.content LIKE patterns[2])
            LIMIT most;
    END IF;
END $$;
GRANT EXECUTE ON FUNCTION user_search_matches(uuid, text[], integer) TO gatehouse_app;
DROP FUNCTION user_search_find(uuid, text, integer);
