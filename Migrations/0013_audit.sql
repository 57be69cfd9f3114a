-- kind: tenant, append-only for the app role. Events of the platform have the nil tenant.
CREATE TABLE audit_events (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    seq bigint,
    occurred_at timestamptz NOT NULL,
    actor_type text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    action text NOT NULL,
    target_type text NOT NULL,
    target_id text NOT NULL,
    target_name text NOT NULL,
    request_id text NOT NULL,
    ip text,
    changes jsonb NOT NULL DEFAULT '{}',
    -- The decision that caused the event.
    decision_id uuid,
    redacted_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
-- Every filter of the audit list walks an index in the order of the list; a name that many events have is
-- counted in its index alone.
CREATE INDEX audit_events_by_age ON audit_events (tenant_id, occurred_at, id);
CREATE INDEX audit_events_by_target ON audit_events (tenant_id, target_id, occurred_at, id);
CREATE INDEX audit_events_by_actor ON audit_events (tenant_id, actor_id, occurred_at, id);
CREATE INDEX audit_events_by_action ON audit_events (tenant_id, action, occurred_at, id);
CREATE INDEX audit_events_by_actor_name ON audit_events (tenant_id, actor_name, occurred_at, id)
    INCLUDE (actor_id);
CREATE INDEX audit_events_by_target_name ON audit_events (tenant_id, target_name, occurred_at, id)
    INCLUDE (target_id);
-- Newest first over all tenants, for the platform's list and its overview. The condition keeps the plans of one
-- tenant's list away from it, as with decisions_everywhere.
CREATE INDEX audit_events_everywhere ON audit_events (occurred_at, id)
    WHERE occurred_at > '-infinity';
SELECT protect('audit_events', rights => 'SELECT, INSERT');

-- A purge removes personal data from the audit log, and leaves that the events happened. Only the functions
-- below change events, in the tenant of the caller's transaction, and only so that an event tells less.

-- The names of the changed fields stay, but not the values, if they may be a user's own words.
CREATE FUNCTION audit_without_words(changes jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(key, CASE
        WHEN key = ANY (ARRAY['role', 'status', 'expires_at', 'delivery', 'removed']) THEN value
        ELSE '[null, null]' END), '{}')
    FROM jsonb_each(changes)
$$;

-- things: ids of the user, the identities and the invites; words: spellings of the user's address, empty if
-- another row of the tenant has the address.
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

-- The same for all events of a deleted tenant; a result below `most`: none is left. The names of the platform's
-- own operators and keys stay: they identify no user of the tenant.
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
    audit_redact_tenant(uuid, bigint) TO gatehouse_app;
