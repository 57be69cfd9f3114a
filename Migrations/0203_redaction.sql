-- A purge takes the words out of what records the past, and leaves that it happened. audit_events and
-- decisions are append-only for the app role: these functions alone change them, in the tenant of the
-- caller's transaction, and only so that less is told.
ALTER TABLE audit_events ADD COLUMN redacted_at timestamptz;
CREATE INDEX decisions_of_user ON decisions (tenant_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX provisioning_retries_by_decision ON provisioning_retries (decision_id);
CREATE INDEX invites_by_accepter ON invites (tenant_id, accepted_user_id)
    WHERE accepted_user_id IS NOT NULL;
CREATE INDEX invites_by_inviting_user ON invites (tenant_id, inviter_id) WHERE inviter_type = 'user';

-- Which fields changed stays, but not from what to what, where a person's words stood.
CREATE FUNCTION audit_without_words(changes jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(key, CASE
        WHEN key = ANY (ARRAY['role', 'status', 'expires_at', 'delivery', 'removed']) THEN value
        ELSE '[null, null]' END), '{}')
    FROM jsonb_each(changes)
$$;

-- things: ids of the user, the identities and the invites; words: spellings of the address, empty
-- where another row of the tenant has it.
CREATE FUNCTION person_redact(tenant uuid, person uuid, things uuid[], words text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE known text[] := things::text[] || person::text;
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    UPDATE audit_events AS e SET redacted_at = now(),
        target_name = CASE WHEN e.target_id = ANY (known) OR e.target_name = ANY (words) THEN ''
            ELSE e.target_name END,
        changes = CASE WHEN e.target_id = ANY (known) OR e.target_name = ANY (words)
            THEN audit_without_words(e.changes) ELSE e.changes END,
        actor_name = CASE WHEN e.actor_type <> 'user' THEN e.actor_name
            WHEN e.actor_id = person::text OR e.actor_name = ANY (words) THEN ''
            ELSE e.actor_name END,
        ip = CASE WHEN e.actor_type = 'user'
                AND (e.actor_id = person::text OR e.actor_name = ANY (words)) THEN NULL
            ELSE e.ip END
    WHERE e.tenant_id = tenant AND e.id IN (
        SELECT id FROM audit_events WHERE tenant_id = tenant AND target_id = ANY (known)
        UNION SELECT id FROM audit_events WHERE tenant_id = tenant AND target_name = ANY (words)
            AND target_type IN ('user', 'invite', 'identity', 'link_grant', 'session')
        UNION SELECT id FROM audit_events WHERE tenant_id = tenant AND actor_type = 'user'
            AND actor_id = person::text
        UNION SELECT id FROM audit_events WHERE tenant_id = tenant AND actor_type = 'user'
            AND actor_name = ANY (words));
END $$;

-- Returns the ids of the decisions that were redacted. email_keys: as words above. The nil tenant is
-- asked for by its own transaction, where the person is known nowhere else.
CREATE FUNCTION decisions_redact(tenant uuid, person uuid, email_keys text[]) RETURNS SETOF uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    RETURN QUERY
    UPDATE decisions AS d SET email = NULL, email_key = NULL, subject = ''
    WHERE d.tenant_id = tenant AND d.id IN (
        SELECT id FROM decisions WHERE tenant_id = tenant AND user_id = person
        UNION SELECT id FROM decisions WHERE tenant_id = tenant AND email_key = ANY (email_keys))
    RETURNING d.id;
END $$;

-- The same of all that is recorded of a deleted tenant; fewer than `most`: none is left. What the
-- platform's own operators and keys are called stays, which names nobody of the tenant.
CREATE FUNCTION audit_redact_tenant(tenant uuid, most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE redacted bigint;
BEGIN
    PERFORM 1 FROM tenants
        WHERE id = tenant AND id = current_tenant() AND status = 'deleted' FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'only a deleted tenant is purged'; END IF;
    UPDATE audit_events AS e SET redacted_at = now(), ip = NULL,
        target_name = CASE WHEN e.target_type = 'tenant' THEN e.target_name ELSE '' END,
        changes = audit_without_words(e.changes),
        actor_name = CASE WHEN e.actor_type = 'user' OR e.actor_type = 'operator' AND NOT EXISTS (
            SELECT 1 FROM operators o WHERE o.id::text = e.actor_id AND o.tenant_id IS NULL)
            THEN '' ELSE e.actor_name END
    WHERE e.tenant_id = tenant AND e.id IN (
        SELECT id FROM audit_events WHERE tenant_id = tenant AND redacted_at IS NULL LIMIT most);
    GET DIAGNOSTICS redacted = ROW_COUNT;
    RETURN redacted;
END $$;
GRANT EXECUTE ON FUNCTION person_redact(uuid, uuid, uuid[], text[]),
    decisions_redact(uuid, uuid, text[]), audit_redact_tenant(uuid, bigint) TO gatehouse_app;
