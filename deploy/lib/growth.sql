-- The data of deploy/measure/growth, deploy/checks/budgets and the tests of lists: rows :first to :last of one tenant, as after a
-- few years of use. psql variables: tenant, first, last; keys, if numbers and hashes of the keys come on standard
-- input. A superuser runs it, since it writes past row-level security.
\set ON_ERROR_STOP on
SET synchronous_commit = off;
CREATE TEMP TABLE given (n bigint, hash text);
\if :{?keys}
\copy given FROM pstdin
\else
INSERT INTO given SELECT n, encode(sha256(convert_to('key ' || n, 'UTF8')), 'hex')
FROM generate_series(:first::bigint, :last::bigint) AS n;
\endif
CREATE TEMP TABLE person AS
SELECT n, md5('user ' || n)::uuid AS id, f || ' ' || l AS name,
    lower(f || '.' || l) || n || '@' || CASE WHEN n <= 5000 THEN 'oldcorp.example' ELSE
        (ARRAY['example.com', 'mail.example', 'corp.example', 'post.example.org', 'uni.example.net',
        'firm.example', 'shop.example', 'studio.example', 'lab.example.org', 'works.example'])
        [1 + (n * 7919 % 9973) % 10] END AS email,
    CASE WHEN n % 100 = 0 THEN 'deleted' WHEN n % 100 <= 3 THEN 'suspended'
        WHEN n % 100 <= 9 THEN 'pending' ELSE 'active' END AS status,
    CASE WHEN n % 200 = 7 THEN 'admin' WHEN n % 40 = 8 THEN 'manager' ELSE 'member' END AS role,
    CASE WHEN n % 100 = 42 THEN 'enterprise' WHEN n % 10 = 3 THEN 'team' ELSE 'free' END AS plan,
    timestamptz '2023-01-01' + n * interval '90 seconds' AS at
FROM (SELECT n,
    (ARRAY['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Radia', 'Ken', 'Margaret',
    'Dennis', 'Frances', 'John', 'Katherine', 'Tim', 'Hedy', 'Linus', 'Joan', 'Niklaus', 'Annie',
    'Bjarne', 'Shafi', 'Leslie', 'Karen', 'Tony', 'Lynn', 'Vint', 'Sophie', 'Guido', 'Jean', 'Yukihiro',
    'Mary', 'Brian'])[1 + (n * 31 + n / 97) % 32] AS f,
    (ARRAY['Lovelace', 'Hopper', 'Turing', 'Dijkstra', 'Liskov', 'Knuth', 'Perlman', 'Thompson',
    'Hamilton', 'Ritchie', 'Allen', 'Backus', 'Johnson', 'Lee', 'Lamarr', 'Torvalds', 'Clarke', 'Wirth',
    'Easley', 'Stroustrup', 'Goldwasser', 'Lamport', 'Jones', 'Hoare', 'Conway', 'Cerf', 'Wilson',
    'Rossum', 'Sammet', 'Matsumoto', 'Keller', 'Kernighan', 'Smith', 'Novak', 'Garcia', 'Nguyen',
    'Kowalski', 'Okafor', 'Ivanova', 'Schmidt', 'Rossi', 'Silva', 'Tanaka', 'Kim', 'Haddad', 'Larsen',
    'Moreau', 'Papadopoulos', 'Singh', 'Yilmaz', 'Andersson', 'Murphy', 'Costa', 'Popescu', 'Horvat',
    'Jensen', 'Virtanen', 'Dubois', 'Fischer', 'Weber', 'Brown', 'Davies', 'Evans'])
    [1 + (n * 17 + n / 1009) % 63] AS l
    FROM generate_series(:first::bigint, :last::bigint) AS n) AS drawn;

INSERT INTO users (tenant_id, id, email, email_key, name, role, status, source, created_at,
    updated_at, last_sign_in_at, deleted_at, public_attributes)
SELECT :'tenant', id, email, email, name, role, status, 'import', at, at,
    CASE WHEN status <> 'pending' THEN at + n % 300 * interval '1 day' END,
    CASE WHEN status = 'deleted' THEN at + interval '300 days' END,
    format('{"plan":"%s","team":"team %s","customer":"c%s"}', plan, n % 1000, n)
FROM person;
-- As the server does for the names that the tenant's schema marks as indexed.
INSERT INTO user_attributes (tenant_id, user_id, name, value, created_at)
SELECT :'tenant', id, of.name, of.value, at
FROM person, LATERAL (VALUES ('plan', plan), ('team', 'team ' || n % 1000), ('customer', 'c' || n)) AS of (name, value);
INSERT INTO user_search SELECT :'tenant', id, email || ' ' || lower(name), at FROM person;
INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, email, email_verified,
    created_at, last_used_at)
SELECT :'tenant', md5('identity ' || n)::uuid, id, CASE WHEN n % 500 = 11 THEN 'github' ELSE 'google' END,
    'https://accounts.google.com', n::text, email, true, at, at
FROM person WHERE status <> 'pending';
INSERT INTO invites (tenant_id, id, email, email_key, role, delivery, status, token_hash, inviter_type,
    inviter_id, inviter_name, expires_at, created_at, updated_at)
SELECT :'tenant', md5('invite ' || n)::uuid, email, email, role, 'link',
    CASE WHEN status = 'pending' THEN 'pending' WHEN n % 50 = 1 THEN 'revoked' ELSE 'accepted' END,
    sha256(convert_to('invite ' || n, 'UTF8')), 'operator', 'growth', 'Growth',
    at + interval '7 days' + CASE WHEN n % 2 = 0 THEN interval '20 years' ELSE interval '0' END, at, at
FROM person;
INSERT INTO api_keys (tenant_id, id, name, environment, hash, prefix, last4, scopes, owner_type,
    owner_user_id, created_by_type, created_by_id, revoked_at, expires_at, created_at, updated_at)
SELECT :'tenant', md5('key ' || n)::uuid, 'Key of ' || name, CASE WHEN n % 9 = 0 THEN 'test' ELSE 'live' END,
    decode(hash, 'hex'), 'gate_live_0', 'abcd', ARRAY['smtp'], 'user', id,
    'operator', 'growth', CASE WHEN n % 20 = 0 THEN at END,
    CASE WHEN n % 10 = 3 THEN at + interval '1 day' END, at, at
FROM person JOIN given USING (n);
INSERT INTO audit_events (tenant_id, id, occurred_at, actor_type, actor_id, actor_name, action,
    target_type, target_id, target_name, request_id)
SELECT :'tenant', md5('event ' || n)::uuid, at, 'operator', 'growth ' || n % 1000, 'Growth',
    CASE WHEN n % 50000 = 1 THEN 'policy.updated' ELSE
        (ARRAY['user.created', 'user.updated', 'invite.created', 'api_key.created'])[1 + n % 4] END,
    'user',
    id::text, email, 'growth' FROM person;
INSERT INTO decisions (tenant_id, id, created_at, outcome, reason, reference, email, email_key,
    provider, issuer, subject, user_id, trace, duration_ms)
SELECT :'tenant', md5('decision ' || n)::uuid, at, CASE WHEN n % 50 = 0 THEN 'refused' ELSE 'created' END,
    CASE WHEN n % 50 = 0 THEN 'not_invited' END, 'GROWTH', email, email, 'google',
    'https://accounts.google.com', n::text, id, '[{"rule":"invite","result":"applies","detail":"live"}]', 3
FROM person;
VACUUM ANALYZE users, user_attributes, user_search, identities, invites, api_keys, audit_events, decisions;
