-- Who comes in by a domain, in place of the policy's sign_up, and as what. NULL: as the policy says.
ALTER TABLE domains
    ADD COLUMN mode text CHECK (mode IN ('join', 'ask', 'invite_only')),
    ADD COLUMN role text CHECK (role IN ('member', 'manager'));

-- When the person of a row that waited for approval was declined: the row is deleted then, and was never a user.
ALTER TABLE users ADD COLUMN declined_at timestamptz;

-- For the list of those who wait for approval, and their number.
CREATE INDEX users_waiting ON users (tenant_id, created_at, id) WHERE status = 'pending' AND source = 'approval';
CREATE INDEX users_waiting_by_email ON users (tenant_id, email_key, id)
    WHERE status = 'pending' AND source = 'approval';

-- For the quota of an inviter.
CREATE INDEX invites_by_inviter ON invites (tenant_id, inviter_type, inviter_id, created_at);

-- A purge takes the person's address off the block lists of all published policies, which are append-only otherwise.
CREATE FUNCTION policies_redact(tenant uuid, words text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    UPDATE policies AS p SET document = jsonb_set(p.document, '{blocked_emails}',
        (SELECT coalesce(jsonb_agg(email), '[]') FROM jsonb_array_elements_text(p.document->'blocked_emails') AS email
            WHERE email <> ALL (words)))
    WHERE p.tenant_id = tenant AND p.document->'blocked_emails' ?| words;
END $$;
GRANT EXECUTE ON FUNCTION policies_redact(uuid, text[]) TO gatehouse_app;
