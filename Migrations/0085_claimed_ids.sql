-- kind: directory. The ids that imports by the platform gave to users as their files have them: each once over all
-- tenants, and never again. Without a tenant: neither an undo nor a purge gives one back.
CREATE TABLE directory_claimed_ids (id uuid PRIMARY KEY);
-- then

-- Those of the ids that nobody had claimed. A claim that is not committed yet is waited for; in order, so that two
-- imports wait for each other never.
CREATE FUNCTION directory_claim_ids(wanted uuid[]) RETURNS SETOF uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF current_tenant() IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    RETURN QUERY INSERT INTO directory_claimed_ids AS t
        SELECT DISTINCT w.id FROM unnest(wanted) AS w (id) ORDER BY w.id
        ON CONFLICT DO NOTHING RETURNING t.id;
END $$;
-- then
GRANT EXECUTE ON FUNCTION directory_claim_ids(uuid[]) TO gatehouse_app;
-- then

-- Those of the ids that are or were of anything in any tenant: of users, who include those who were merged into others,
-- or of what audit events are about, which stay when it goes. The figures of tables that an import fills are old.
CREATE FUNCTION ids_known(wanted text[]) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY SELECT u.id::text FROM users u WHERE u.id::text = ANY (wanted)
        UNION SELECT e.target_id FROM audit_events e WHERE e.target_id = ANY (wanted) AND e.occurred_at > '-infinity';
END $$;
-- then
GRANT EXECUTE ON FUNCTION ids_known(text[]) TO gatehouse_platform;
