-- The audit log says who changed what and when. Functions here also change, for the purge of a person or of a
-- tenant, what the app's role cannot.

-- kind: tenant. The app's role only adds rows. Events of the platform have the nil tenant.
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
    -- {field: [before, after]}
    changes jsonb NOT NULL DEFAULT '{}',
    request_id text NOT NULL,
    ip text,
    -- The decision that caused the event.
    decision_id uuid,
    -- When a purge removed personal data from the event.
    redacted_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
-- Every filter of the audit list walks an index in the order of the list. A name that many events have is counted in
-- its index alone.
CREATE INDEX audit_events_by_age ON audit_events (tenant_id, occurred_at, id);
CREATE INDEX audit_events_by_target ON audit_events (tenant_id, target_id, occurred_at, id);
CREATE INDEX audit_events_by_actor ON audit_events (tenant_id, actor_id, occurred_at, id);
CREATE INDEX audit_events_by_action ON audit_events (tenant_id, action, occurred_at, id);
CREATE INDEX audit_events_by_actor_name ON audit_events (tenant_id, actor_name, occurred_at, id) INCLUDE (actor_id);
CREATE INDEX audit_events_by_target_name ON audit_events (tenant_id, target_name, occurred_at, id) INCLUDE (target_id);
-- What a key did, in all tenants.
CREATE INDEX audit_events_by_key ON audit_events (actor_id, tenant_id) WHERE actor_type = 'key';
-- Over all tenants: the newest events, and whether anything has or had an id. The condition is as that of
-- decisions_everywhere.
CREATE INDEX audit_events_everywhere ON audit_events (occurred_at, id) WHERE occurred_at > '-infinity';
CREATE INDEX audit_events_by_target_alone ON audit_events (target_id) WHERE occurred_at > '-infinity';
SELECT protect('audit_events', rights => 'SELECT, INSERT');

-- A purge removes personal data from the audit log and leaves that the events happened. Only the next functions change
-- events, in the tenant of the caller's transaction.

-- Keeps the names of the changed fields, but only those values that cannot be a person's own words.
CREATE FUNCTION audit_without_words(changes jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(key, CASE
        WHEN key = ANY (ARRAY['role', 'status', 'expires_at', 'delivery', 'removed']) THEN value
        ELSE '[null, null]' END), '{}')
    FROM jsonb_each(changes)
$$;

-- Redacts what names a person, in the audit log and in what mail servers said about invites. things: ids of the user,
-- the identities and the invites. words: spellings of the user's address; none if another row of the tenant has the
-- address. An index leads to the invites only for the owner of the table: for another role row-level security comes
-- before any condition on a text.
CREATE FUNCTION person_redact(tenant uuid, person uuid, things uuid[], words text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE known text[] := things::text[] || person::text;
    saying uuid[];
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
    saying := ARRAY(SELECT i.id FROM invites i WHERE i.tenant_id = tenant AND i.delivery_detail IS NOT NULL
        AND addresses_in(i.delivery_detail) && ARRAY(SELECT lower(word) FROM unnest(words) AS word));
    UPDATE invites SET delivery_detail = NULL WHERE tenant_id = tenant AND id = ANY (saying);
END $$;

-- Redacts up to `most` events of a deleted tenant, and returns how many: fewer than `most` means that none is left.
-- kept: ids of operators whose names stay, the platform's own. They identify no user of the tenant.
CREATE FUNCTION audit_redact_tenant(tenant uuid, kept text[], most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE redacted bigint;
BEGIN
    PERFORM 1 FROM tenants WHERE id = tenant AND id = current_tenant() AND status = 'deleted';
    IF NOT FOUND THEN RAISE EXCEPTION 'only a deleted tenant is purged'; END IF;
    UPDATE audit_events AS e SET redacted_at = now(), ip = NULL,
        target_name = CASE WHEN e.target_type = 'tenant' THEN e.target_name ELSE '' END,
        changes = audit_without_words(e.changes),
        actor_name = CASE WHEN e.actor_type = 'user' OR e.actor_type = 'operator' AND e.actor_id <> ALL (kept)
            THEN '' ELSE e.actor_name END
    WHERE e.tenant_id = tenant AND e.id IN (
        SELECT id FROM audit_events WHERE tenant_id = tenant AND redacted_at IS NULL LIMIT most);
    GET DIAGNOSTICS redacted = ROW_COUNT;
    RETURN redacted;
END $$;

-- The tables that have rows of tenants, and whether the rows lie on the server of their tenant. The purge of a tenant
-- empties them one by one, and takes them from the catalogue, so that no new table is forgotten. The audit log stays,
-- and so do the slug and the locator, which no other tenant ever gets.
CREATE FUNCTION tenant_tables() RETURNS TABLE (relation text, by_tenant boolean)
    LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT c.relname::text, true FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        AND a.attname = 'tenant_id' AND NOT a.attisdropped
        AND c.relname NOT IN ('audit_events', 'directory_slugs', 'directory_locators')
    ORDER BY c.relname $$;

-- Removes up to `most` rows of a deleted tenant from one table, and returns how many; rows that a foreign key removes
-- with them do not count. It refuses an active tenant, whose policies and decisions only grow. The caller holds the
-- lock of the tenant's row.
CREATE FUNCTION tenant_table_remove(tenant uuid, place text, most bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE removed bigint;
BEGIN
    PERFORM 1 FROM tenants WHERE id = tenant AND id = current_tenant() AND status = 'deleted';
    IF NOT FOUND THEN RAISE EXCEPTION 'only a deleted tenant is purged'; END IF;
    IF place NOT IN (SELECT relation FROM tenant_tables()) THEN RAISE EXCEPTION 'no table of tenants'; END IF;
    PERFORM set_config('app.merged', 'on', true);
    EXECUTE format('DELETE FROM %1$I WHERE tenant_id = $1 AND ctid = ANY (ARRAY('
        'SELECT ctid FROM %1$I WHERE tenant_id = $1 LIMIT $2))', place) USING tenant, most;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;
GRANT EXECUTE ON FUNCTION person_redact(uuid, uuid, uuid[], text[]), audit_redact_tenant(uuid, text[], bigint),
    tenant_tables(), tenant_table_remove(uuid, text, bigint) TO gatehouse_app;
