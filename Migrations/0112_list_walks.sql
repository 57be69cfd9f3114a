-- A walk to a frequent text in the order of addresses looks at an index alone: the rows lie anywhere.
DROP INDEX users_by_email;
CREATE INDEX users_by_email ON users (tenant_id, email_key, id) INCLUDE (status, name);

-- Ids are random, so the first by id are a sample. A text that more than one of 200 have is
-- frequent: up to 500 of the sample's own matches come back, behind a NULL that says that there are
-- more. So is one that has more than `most` matches. In a small tenant the sample is everything.
CREATE OR REPLACE FUNCTION search_matches(listing text, tenant uuid, patterns text[], most integer)
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
