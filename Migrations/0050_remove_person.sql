-- A person's keys lead to few rows, a tenant's to as many as it has users. Where the tenant has grown since its table
-- was last counted, PostgreSQL took the tenant's index: a removal then read every person of the tenant, and the undo of
-- an import took hours. IS NOT DISTINCT FROM is never looked up in an index, so the keys are.
CREATE OR REPLACE FUNCTION directory_remove_person(wanted bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ DELETE FROM directory_people
          WHERE key = ANY (person_keys(wanted)) AND tenant_id IS NOT DISTINCT FROM current_tenant() $$;
