-- A purge takes everything of a tenant out of every table that names one, found in the catalogue,
-- so that no new table is forgotten. What happened stays in the audit; the slug and the locator
-- stay, so that neither is given to another tenant, nor an old key's secret looked up there.
-- Only a deleted tenant's rows: decisions and policies of a living one are append-only.
-- most: rows at most, those that fall with a row that they refer to not counted. Fewer: none left.
CREATE FUNCTION tenant_rows_remove(tenant uuid, most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE place name; removed bigint := 0; batch bigint;
BEGIN
    PERFORM 1 FROM tenants
        WHERE id = tenant AND id = current_tenant() AND status = 'deleted' FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'only a deleted tenant is purged'; END IF;
    FOR place IN
        SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
            AND a.attname = 'tenant_id' AND NOT a.attisdropped
            AND c.relname NOT IN ('audit_events', 'directory_slugs', 'directory_locators')
        ORDER BY c.relname
    LOOP
        EXECUTE format('DELETE FROM %1$I WHERE tenant_id = $1 AND ctid = ANY (ARRAY('
            'SELECT ctid FROM %1$I WHERE tenant_id = $1 LIMIT $2))', place)
            USING tenant, most - removed;
        GET DIAGNOSTICS batch = ROW_COUNT;
        removed := removed + batch;
        IF removed >= most THEN RETURN removed; END IF;
    END LOOP;
    RETURN removed;
END $$;
GRANT EXECUTE ON FUNCTION tenant_rows_remove(uuid, bigint) TO gatehouse_app;

-- The large tables of those that are otherwise never asked by tenant alone.
CREATE INDEX directory_people_by_tenant ON directory_people (tenant_id);
CREATE INDEX provisioning_retries_by_tenant ON provisioning_retries (tenant_id);
CREATE INDEX pending_choices_by_tenant ON pending_choices (tenant_id);
CREATE INDEX mail_by_tenant ON mail (tenant_id);
CREATE INDEX tenants_by_deletion ON tenants (deleted_at) WHERE status = 'deleted';
