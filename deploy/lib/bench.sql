-- The data of deploy/bench, deploy/measure/balance and deploy/checks/soak: 1,000 tenants of 100 users each, every user with an
-- identity; numbers and hashes of API keys come on standard input.
\set ON_ERROR_STOP on
CREATE FUNCTION bench_tenant(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
    AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
GRANT EXECUTE ON FUNCTION bench_tenant(bigint) TO PUBLIC;
INSERT INTO tenants (id, slug, name, locator, created_at, updated_at)
SELECT bench_tenant(n), 'bench-' || n, 'Bench ' || n, 'B' || lpad(n::text, 5, '0'), now(), now()
FROM generate_series(1, 1000) n;
INSERT INTO directory_slugs SELECT slug, id FROM tenants WHERE slug LIKE 'bench-%';
INSERT INTO directory_locators SELECT locator, id FROM tenants WHERE slug LIKE 'bench-%';
INSERT INTO policies (tenant_id, version, document, created_by, created_at)
SELECT id, 1, '{}', 'bench', now() FROM tenants WHERE slug LIKE 'bench-%';
INSERT INTO users (tenant_id, id, email, email_key, name, role, status, source, created_at,
    updated_at, last_sign_in_at)
SELECT bench_tenant(1 + n % 1000), md5('user ' || n)::uuid, 'person' || n || '@example.com',
    'person' || n || '@example.com', 'Person Number ' || n, 'member', 'active', 'import',
    timestamptz '2026-01-01' + n * interval '1 minute', timestamptz '2026-01-01', timestamptz '2026-02-01'
FROM generate_series(0, 99999) n;
INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, email, email_verified,
    created_at)
SELECT tenant_id, md5('identity ' || email_key)::uuid, id, 'google', 'https://accounts.google.com',
    email_key, email, true, created_at FROM users;
CREATE TEMP TABLE given (n bigint, hash text);
\copy given FROM pstdin
INSERT INTO api_keys (tenant_id, id, name, environment, hash, prefix, last4, scopes, owner_type,
    created_by_type, created_by_id, created_at, updated_at)
SELECT bench_tenant(1 + n % 1000), md5('key ' || n)::uuid, 'Key ' || n, 'live', decode(hash, 'hex'),
    'gate_live_B0', 'abcd', ARRAY['smtp'], 'tenant', 'operator', 'bench', now(), now() FROM given;
VACUUM ANALYZE;
