-- Decisions are append-only for the app role; what is past its time goes through this function
-- alone, which removes nothing younger than a day, a batch at a time, in one tenant.
CREATE FUNCTION decisions_remove(tenant uuid, past timestamptz, most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public
    AS $$
DECLARE removed bigint;
BEGIN
    IF past > now() - interval '1 day' THEN
        RAISE EXCEPTION 'decisions are kept for a day at least';
    END IF;
    DELETE FROM decisions AS d USING (
        SELECT id FROM decisions WHERE tenant_id = tenant AND created_at <= past
        ORDER BY created_at LIMIT most) AS old
    WHERE d.tenant_id = tenant AND d.id = old.id;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;
GRANT EXECUTE ON FUNCTION decisions_remove(uuid, timestamptz, bigint) TO gatehouse_app;
