-- Keys are found by their name and invites by their address as users are: by trigrams, which
-- row-level security would switch off. The functions run as the schema's owner, who may therefore
-- read these tables across tenants (no role that connects is that owner); each names its tenant.
CREATE POLICY api_keys_owner ON api_keys FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY invites_owner ON invites FOR SELECT TO CURRENT_USER USING (true);

-- Letters of every script: the database's own locale may know of ASCII alone.
ALTER TABLE api_keys ADD COLUMN name_key text NOT NULL
    GENERATED ALWAYS AS (lower(name COLLATE "und-x-icu")) STORED;
CREATE INDEX api_keys_by_name ON api_keys (tenant_id, name_key, id);
CREATE INDEX api_keys_name ON api_keys USING gin (tenant_id, name_key gin_trgm_ops);
CREATE INDEX api_keys_sample ON api_keys (tenant_id, id) INCLUDE (name_key);
CREATE INDEX invites_address ON invites USING gin (tenant_id, email_key gin_trgm_ops);
CREATE INDEX invites_sample ON invites (tenant_id, id) INCLUDE (email_key);
CREATE INDEX invites_live ON invites (tenant_id, created_at, id) INCLUDE (expires_at)
    WHERE status = 'pending';

-- By the trigrams whatever the planner thinks of the pattern. listing: 'users', 'api_keys' or
-- 'invites'. patterns: LIKE patterns with their wildcards already escaped by the caller; any may
-- match. by: 'created_at' or 'text' (a user's address, a key's name, an invite's address), with a
-- minus for the last first, or '' for any order; after: the place to start behind, or NULLs.
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
    IF cardinality(patterns) > 1 THEN
        matching := format('(u.%1$I LIKE ($2)[1] OR u.%1$I LIKE ($2)[2])', content);
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

-- Ids are random, so the first by id are a sample. A text that more than one of 200 have is
-- frequent: the sample's own matches come back, behind a NULL that says that there are more. So
-- is one that has more than `most` matches. In a small tenant the sample is everything.
CREATE FUNCTION search_matches(listing text, tenant uuid, patterns text[], most integer)
RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE sampled integer; hits uuid[];
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    IF listing = 'users' THEN
        SELECT count(*), array_agg(s.id) FILTER (WHERE s.content LIKE ANY (patterns))
        INTO sampled, hits
        FROM (SELECT u.user_id AS id, u.content FROM user_search u WHERE u.tenant_id = tenant
              ORDER BY u.user_id LIMIT 5000) AS s;
    ELSIF listing = 'api_keys' THEN
        SELECT count(*), array_agg(s.id) FILTER (WHERE s.content LIKE ANY (patterns))
        INTO sampled, hits
        FROM (SELECT k.id, k.name_key AS content FROM api_keys k WHERE k.tenant_id = tenant
              ORDER BY k.id LIMIT 5000) AS s;
    ELSE
        SELECT count(*), array_agg(s.id) FILTER (WHERE s.content LIKE ANY (patterns))
        INTO sampled, hits
        FROM (SELECT i.id, i.email_key AS content FROM invites i WHERE i.tenant_id = tenant
              ORDER BY i.id LIMIT 5000) AS s;
    END IF;
    IF sampled = 5000 THEN
        IF cardinality(hits) > 25 THEN
            RETURN NEXT NULL;
        ELSE
            SELECT array_agg(f) INTO hits FROM search_fetch(
                listing, tenant, patterns, '', NULL, NULL, NULL, most + 1) AS f;
        END IF;
    END IF;
    IF cardinality(hits) > most THEN
        RETURN NEXT NULL;
        hits := hits[:most];
    END IF;
    RETURN QUERY SELECT unnest(hits);
END $$;
GRANT EXECUTE ON FUNCTION search_matches(text, uuid, text[], integer),
    search_fetch(text, uuid, text[], text, timestamptz, text, uuid, integer) TO gatehouse_app;
DROP FUNCTION user_search_matches(uuid, text[], integer);
DROP FUNCTION user_search_fetch(uuid, text[], text, timestamptz, text, uuid, integer);
