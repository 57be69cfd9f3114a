-- What an undo compares, and what it ended because it was made as the winner since the merge; NULL until then, and
-- for merges of before.
ALTER TABLE user_merges
    ADD COLUMN winner_email_key text,
    ADD COLUMN winner_had_password boolean,
    ADD COLUMN ended jsonb;

-- Users whose purge ends the mail, where `about` is random so that no later mail replaces it.
ALTER TABLE mail ADD COLUMN people uuid[];
CREATE INDEX mail_by_people ON mail USING gin (people) WHERE people IS NOT NULL;

-- A purge takes the person's name off the policies that they published, which are append-only otherwise. A policy keeps
-- a name alone; the event of the same change knows whose it was.
CREATE FUNCTION policies_redact_author(tenant uuid, person uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    UPDATE policies AS p SET created_by = ''
    WHERE p.tenant_id = tenant AND p.created_by <> '' AND p.created_at IN (
        SELECT e.occurred_at FROM audit_events e
        WHERE e.tenant_id = tenant AND e.actor_type = 'user' AND e.actor_id = person::text
            AND e.action = 'policy.updated');
END $$;
GRANT EXECUTE ON FUNCTION policies_redact_author(uuid, uuid) TO gatehouse_app;
