-- Users of every tenant by parts of an address or a name, for the platform's role alone. As in search_matches, a sample
-- says whether what is wanted is common: then its matches are at hand; else the trigram index finds the few, by the
-- pattern that the sample has least often.
CREATE FUNCTION search_people(patterns text[], most integer) RETURNS TABLE (tenant_id uuid, user_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    -- The part of the table, in per cent, that has about 5,000 rows.
    share double precision := (SELECT least(100, 500000 / greatest(c.reltuples, 1)) FROM pg_class c
                               WHERE c.oid = 'public.user_search'::regclass);
    hits bigint;
    rarest text;
BEGIN
    SELECT count(*) INTO hits FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
        WHERE u.content LIKE ALL (patterns);
    IF hits > 25 THEN
        RETURN QUERY SELECT u.tenant_id, u.user_id FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
            WHERE u.content LIKE ALL (patterns) LIMIT most;
    ELSE
        SELECT p INTO rarest FROM unnest(patterns) AS p
            WHERE p ~ '[[:alnum:]]{3}'
            ORDER BY (SELECT count(*) FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
                      WHERE u.content LIKE p), length(p) DESC LIMIT 1;
        -- The index takes one pattern; ALL it does not.
        RETURN QUERY SELECT u.tenant_id, u.user_id FROM user_search u
            WHERE u.content LIKE rarest AND u.content LIKE ALL (patterns) LIMIT most;
    END IF;
END $$;
GRANT EXECUTE ON FUNCTION search_people(text[], integer) TO gatehouse_platform;
