-- Statistics of tables that a large write has grown: until autovacuum looks, PostgreSQL takes them for
-- small or empty and may choose an index by which a tenant's every row is read. A table is looked at when it
-- has twice the pages of its last statistics, so about once for each doubling.
CREATE FUNCTION analyze_grown_tables() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE grown name; count integer := 0;
BEGIN
    FOR grown IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
            AND c.relname IN ('users', 'invites', 'identities', 'user_search', 'directory_people',
                'audit_events', 'mail')
            AND pg_relation_size(c.oid) / current_setting('block_size')::bigint > 2 * c.relpages + 8
        ORDER BY c.relname
    LOOP
        EXECUTE format('ANALYZE %I', grown);
        count := count + 1;
    END LOOP;
    RETURN count;
END $$;
GRANT EXECUTE ON FUNCTION analyze_grown_tables() TO gatehouse_app;
