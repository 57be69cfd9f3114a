-- kind: tenant. A decision that belongs to no tenant is the platform's. A tenant that it was about
-- reads its own part under the same id: `part` says for what the tenant may see it (its verified
-- domain, a user of its own who has signed in, or an invite of its own); NULL is the whole decision.
ALTER TABLE decisions ADD COLUMN part text CHECK (part IN ('domain', 'user', 'invite'));
CREATE INDEX decisions_everywhere_by_reference ON decisions (reference);
DROP INDEX decisions_by_reference;

-- Claims that nobody has proved yet, so that a refusal can say what was missing.
CREATE INDEX domains_unproved ON domains (domain) WHERE status = 'pending';
CREATE FUNCTION domain_claimants(wanted text[]) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM domains WHERE domain = ANY (wanted) AND status = 'pending'
          ORDER BY created_at, tenant_id LIMIT 10 $$;
GRANT EXECUTE ON FUNCTION domain_claimants(text[]) TO gatehouse_app;
