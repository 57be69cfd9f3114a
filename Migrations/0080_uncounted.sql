-- What a statement reads must not depend on statistics that PostgreSQL has not made yet: each of these conditions has
-- an index of its own. Here those of tables that are small everywhere; the next file has the others.
CREATE INDEX operator_identities_by_operator ON operator_identities (operator_id);
-- then
CREATE INDEX operators_owners ON operators (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'))
    WHERE role = 'owner' AND status = 'active' AND last_sign_in_at IS NOT NULL;
-- then
CREATE INDEX providers_by_age ON providers (created_at, id);
-- then
CREATE INDEX providers_by_tenant ON providers (tenant_id, created_at, id);
-- then
CREATE INDEX clients_naming_provider ON clients (tenant_id, (settings->>'provider'))
    WHERE enabled AND settings->>'provider' IS NOT NULL;
-- then
CREATE INDEX pending_choices_by_address ON pending_choices (tenant_id, email_key);
-- then
CREATE INDEX reservations_by_tenant ON reservations (tenant_id, email_key);
-- then
CREATE INDEX reset_asks_by_address ON reset_asks (tenant_id, email_key) WHERE email_key IS NOT NULL;
-- then
CREATE INDEX operators_by_tenant ON operators (tenant_id, created_at);
-- then
CREATE INDEX domains_by_age ON domains (tenant_id, created_at, id);
-- then
CREATE INDEX cors_origins_by_age ON cors_origins (tenant_id, created_at, id);
-- then
CREATE INDEX operators_of_platform ON operators (id) WHERE tenant_id IS NULL;
-- then
CREATE INDEX link_grants_ended ON link_grants (tenant_id, expires_at);
-- then
CREATE INDEX password_resets_by_end ON password_resets (expires_at);
-- then
CREATE INDEX password_resets_ended ON password_resets (tenant_id, expires_at);
-- then
CREATE INDEX link_grants_by_maker ON link_grants (tenant_id, made_by_id) WHERE made_by_id IS NOT NULL;
-- then
CREATE INDEX password_resets_by_maker ON password_resets (tenant_id, made_by_id) WHERE made_by_id IS NOT NULL;
-- then

-- The ids that a stored answer names, and the addresses that a text does: with what may stand before one, and without.
-- Without fastupdate, whose list of what is not yet in the index each search reads.
CREATE FUNCTION ids_in(answer bytea) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT id[1] FROM regexp_matches(encode(answer, 'escape'),
        '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'g') AS id);
END $$;
-- then
CREATE FUNCTION addresses_in(said text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT one[1] FROM unnest(ARRAY['[^[:space:]<>()\[\]:;,"@]+', '[[:alnum:]._%+-]+']) AS local,
        LATERAL regexp_matches(lower(said), local || '@[[:alnum:]-]+(?:\.[[:alnum:]-]+)*', 'g') AS one);
END $$;
-- then
GRANT EXECUTE ON FUNCTION ids_in(bytea), addresses_in(text) TO gatehouse_app;
-- then

-- What a mail server said of an invite, too, may name a person. An index leads to it for the owner alone: for another
-- role row-level security comes before any condition on a text.
CREATE OR REPLACE FUNCTION person_redact(tenant uuid, person uuid, things uuid[], words text[]) RETURNS void
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
