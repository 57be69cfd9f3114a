-- The schema that the migrations make, for readers: deploy/tools/schema generates it, a test compares it, and nothing
-- applies it. The numbered files beside it explain the tables.

CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;
COMMENT ON EXTENSION btree_gin IS 'support for indexing common datatypes in GIN';
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';
GRANT USAGE ON SCHEMA public TO gatehouse_app;
GRANT USAGE ON SCHEMA public TO gatehouse_platform;
ALTER DEFAULT PRIVILEGES FOR ROLE gatehouse_owner REVOKE ALL ON FUNCTIONS  FROM PUBLIC;

-- answered_challenges

CREATE TABLE answered_challenges (
    challenge_hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT answered_challenges_challenge_hash_check CHECK ((octet_length(challenge_hash) = 32))
);
ALTER TABLE answered_challenges
    ADD CONSTRAINT answered_challenges_pkey PRIMARY KEY (challenge_hash);
CREATE INDEX answered_challenges_by_end ON answered_challenges USING btree (expires_at);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE answered_challenges TO gatehouse_app;

-- api_key_uses

CREATE TABLE api_key_uses (
    tenant_id uuid NOT NULL,
    key_id uuid NOT NULL,
    day timestamp with time zone NOT NULL,
    uses bigint NOT NULL
);

ALTER TABLE api_key_uses FORCE ROW LEVEL SECURITY;
ALTER TABLE api_key_uses
    ADD CONSTRAINT api_key_uses_pkey PRIMARY KEY (tenant_id, key_id, day);
CREATE INDEX api_key_uses_by_day ON api_key_uses USING btree (day);
ALTER TABLE api_key_uses ENABLE ROW LEVEL SECURITY;
CREATE POLICY api_key_uses_platform ON api_key_uses FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY api_key_uses_tenant ON api_key_uses USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE api_key_uses TO gatehouse_app;
GRANT SELECT ON TABLE api_key_uses TO gatehouse_platform;

-- api_keys

CREATE TABLE api_keys (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    name_key text GENERATED ALWAYS AS (lower((name COLLATE "und-x-icu"))) STORED NOT NULL,
    environment text NOT NULL,
    note text,
    hash bytea NOT NULL,
    prefix text NOT NULL,
    last4 text NOT NULL,
    previous_hash bytea,
    previous_prefix text,
    previous_last4 text,
    previous_until timestamp with time zone,
    previous_last_used_at timestamp with time zone,
    previous_uses bigint DEFAULT 0 NOT NULL,
    scopes text[] NOT NULL,
    owner_type text NOT NULL,
    owner_user_id uuid,
    owner_deleted_at timestamp with time zone,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    given_before boolean DEFAULT false NOT NULL,
    rate_limit integer,
    limit_shared_with uuid,
    allowed_ips text[] DEFAULT '{}'::text[] NOT NULL,
    allowed_origins text[] DEFAULT '{}'::text[] NOT NULL,
    last_used_at timestamp with time zone,
    last_used_ip text,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revocation_reason text,
    CONSTRAINT api_keys_environment_check CHECK ((environment = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT api_keys_owner_type_check CHECK ((owner_type = ANY (ARRAY['user'::text, 'tenant'::text, 'platform'::text]))),
    CONSTRAINT api_keys_rate_limit_check CHECK ((rate_limit > 0))
);

ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
ALTER TABLE api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE api_keys
    ADD CONSTRAINT api_keys_tenant_id_hash_key UNIQUE (tenant_id, hash);
CREATE INDEX api_keys_by_age ON api_keys USING btree (tenant_id, created_at, id);
CREATE INDEX api_keys_by_id ON api_keys USING btree (((id)::text));
CREATE INDEX api_keys_by_last_four ON api_keys USING btree (last4, tenant_id);
CREATE INDEX api_keys_by_maker ON api_keys USING btree (created_by_id, tenant_id) WHERE (created_by_type = 'key'::text);
CREATE INDEX api_keys_by_name ON api_keys USING btree (tenant_id, name_key, id);
CREATE INDEX api_keys_by_owner ON api_keys USING btree (tenant_id, owner_user_id, created_at, id) WHERE (owner_user_id IS NOT NULL);
CREATE INDEX api_keys_by_revocation ON api_keys USING btree (tenant_id, revoked_at) WHERE (revoked_at IS NOT NULL);
CREATE INDEX api_keys_ending ON api_keys USING btree (tenant_id, expires_at) WHERE ((expires_at IS NOT NULL) AND (revoked_at IS NULL) AND (owner_deleted_at IS NULL));
CREATE INDEX api_keys_ending_everywhere ON api_keys USING btree (expires_at, tenant_id) WHERE ((expires_at > '-infinity'::timestamp with time zone) AND (revoked_at IS NULL) AND (owner_deleted_at IS NULL));
CREATE INDEX api_keys_given_before ON api_keys USING btree (tenant_id, created_at, id) WHERE (given_before AND (revoked_at IS NULL) AND (scopes && '{providers:write,clients:write,policy:write,operators:write,hooks:signup}'::text[]));
CREATE INDEX api_keys_live ON api_keys USING btree (tenant_id, id) WHERE (revoked_at IS NULL);
CREATE INDEX api_keys_name ON api_keys USING gin (tenant_id, name_key gin_trgm_ops);
CREATE UNIQUE INDEX api_keys_previous ON api_keys USING btree (tenant_id, previous_hash) WHERE (previous_hash IS NOT NULL);
CREATE INDEX api_keys_revoked ON api_keys USING btree (tenant_id, created_at, id) WHERE ((revoked_at IS NOT NULL) OR (owner_deleted_at IS NOT NULL));
CREATE INDEX api_keys_sample ON api_keys USING btree (tenant_id, id) INCLUDE (name_key);
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY api_keys_owner ON api_keys FOR SELECT TO gatehouse_owner USING (true);
CREATE POLICY api_keys_platform ON api_keys FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY api_keys_tenant ON api_keys USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE api_keys TO gatehouse_app;
GRANT SELECT ON TABLE api_keys TO gatehouse_platform;

-- attribute_schemas

CREATE TABLE attribute_schemas (
    tenant_id uuid NOT NULL,
    document text NOT NULL,
    version bigint NOT NULL,
    ready text[] DEFAULT '{}'::text[] NOT NULL,
    indexed_to uuid,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE attribute_schemas FORCE ROW LEVEL SECURITY;
ALTER TABLE attribute_schemas
    ADD CONSTRAINT attribute_schemas_pkey PRIMARY KEY (tenant_id);
CREATE INDEX attribute_schemas_unread ON attribute_schemas USING btree (tenant_id) WHERE (indexed_to IS NOT NULL);
ALTER TABLE attribute_schemas ENABLE ROW LEVEL SECURITY;
CREATE POLICY attribute_schemas_platform ON attribute_schemas FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY attribute_schemas_tenant ON attribute_schemas USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE attribute_schemas TO gatehouse_app;
GRANT SELECT ON TABLE attribute_schemas TO gatehouse_platform;

-- audit_events

CREATE TABLE audit_events (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    seq bigint,
    occurred_at timestamp with time zone NOT NULL,
    actor_type text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    action text NOT NULL,
    target_type text NOT NULL,
    target_id text NOT NULL,
    target_name text NOT NULL,
    changes jsonb DEFAULT '{}'::jsonb NOT NULL,
    request_id text NOT NULL,
    ip text,
    decision_id uuid,
    redacted_at timestamp with time zone
);

ALTER TABLE audit_events FORCE ROW LEVEL SECURITY;
ALTER TABLE audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (tenant_id, id);
CREATE INDEX audit_events_by_action ON audit_events USING btree (tenant_id, action, occurred_at, id);
CREATE INDEX audit_events_by_actor ON audit_events USING btree (tenant_id, actor_id, occurred_at, id);
CREATE INDEX audit_events_by_actor_name ON audit_events USING btree (tenant_id, actor_name, occurred_at, id) INCLUDE (actor_id);
CREATE INDEX audit_events_by_age ON audit_events USING btree (tenant_id, occurred_at, id);
CREATE INDEX audit_events_by_key ON audit_events USING btree (actor_id, tenant_id) WHERE (actor_type = 'key'::text);
CREATE INDEX audit_events_by_target ON audit_events USING btree (tenant_id, target_id, occurred_at, id);
CREATE INDEX audit_events_by_target_alone ON audit_events USING btree (target_id) WHERE (occurred_at > '-infinity'::timestamp with time zone);
CREATE INDEX audit_events_by_target_name ON audit_events USING btree (tenant_id, target_name, occurred_at, id) INCLUDE (target_id);
CREATE INDEX audit_events_everywhere ON audit_events USING btree (occurred_at, id) WHERE (occurred_at > '-infinity'::timestamp with time zone);
ALTER TABLE audit_events ENABLE ROW LEVEL SECURITY;
CREATE POLICY audit_events_platform ON audit_events FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY audit_events_tenant ON audit_events USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT ON TABLE audit_events TO gatehouse_app;
GRANT SELECT ON TABLE audit_events TO gatehouse_platform;

-- barred_identities

CREATE TABLE barred_identities (
    tenant_id uuid NOT NULL,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid NOT NULL,
    barred_at timestamp with time zone NOT NULL
);

ALTER TABLE barred_identities FORCE ROW LEVEL SECURITY;
ALTER TABLE barred_identities
    ADD CONSTRAINT barred_identities_pkey PRIMARY KEY (tenant_id, provider, issuer, subject);
ALTER TABLE barred_identities
    ADD CONSTRAINT barred_identities_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX barred_identities_by_user ON barred_identities USING btree (tenant_id, user_id);
ALTER TABLE barred_identities ENABLE ROW LEVEL SECURITY;
CREATE POLICY barred_identities_platform ON barred_identities FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY barred_identities_tenant ON barred_identities USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE barred_identities TO gatehouse_app;
GRANT SELECT ON TABLE barred_identities TO gatehouse_platform;

-- client_profiles

CREATE TABLE client_profiles (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    client text NOT NULL,
    document jsonb NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE client_profiles FORCE ROW LEVEL SECURITY;
ALTER TABLE client_profiles
    ADD CONSTRAINT client_profiles_pkey PRIMARY KEY (tenant_id, user_id, client);
ALTER TABLE client_profiles
    ADD CONSTRAINT client_profiles_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE client_profiles ENABLE ROW LEVEL SECURITY;
CREATE POLICY client_profiles_platform ON client_profiles FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY client_profiles_tenant ON client_profiles USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE client_profiles TO gatehouse_app;
GRANT SELECT ON TABLE client_profiles TO gatehouse_platform;

-- client_secrets

CREATE TABLE client_secrets (
    tenant_id uuid NOT NULL,
    client text NOT NULL,
    id uuid NOT NULL,
    sealed bytea NOT NULL,
    audience bytea NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE client_secrets
    ADD CONSTRAINT client_secrets_id_key UNIQUE (id);
ALTER TABLE client_secrets
    ADD CONSTRAINT client_secrets_pkey PRIMARY KEY (tenant_id, client);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE client_secrets TO gatehouse_app;

-- clients

CREATE TABLE clients (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    enabled boolean NOT NULL,
    hosts text[] DEFAULT '{}'::text[] NOT NULL,
    redirect_uris text[] DEFAULT '{}'::text[] NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE clients FORCE ROW LEVEL SECURITY;
ALTER TABLE clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (tenant_id, name);
CREATE INDEX clients_naming_provider ON clients USING btree (tenant_id, ((settings ->> 'provider'::text))) WHERE (enabled AND ((settings ->> 'provider'::text) IS NOT NULL));
ALTER TABLE clients ENABLE ROW LEVEL SECURITY;
CREATE POLICY clients_platform ON clients FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY clients_tenant ON clients USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE clients TO gatehouse_app;
GRANT SELECT ON TABLE clients TO gatehouse_platform;

-- cors_origins

CREATE TABLE cors_origins (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    origin text NOT NULL,
    kind text NOT NULL,
    credentials boolean DEFAULT false NOT NULL,
    label text,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    CONSTRAINT cors_origins_kind_check CHECK ((kind = ANY (ARRAY['exact'::text, 'wildcard'::text])))
);

ALTER TABLE cors_origins FORCE ROW LEVEL SECURITY;
ALTER TABLE cors_origins
    ADD CONSTRAINT cors_origins_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE cors_origins
    ADD CONSTRAINT cors_origins_tenant_id_origin_key UNIQUE (tenant_id, origin);
CREATE INDEX cors_origins_by_age ON cors_origins USING btree (tenant_id, created_at, id);
CREATE INDEX cors_origins_by_id ON cors_origins USING btree (((id)::text));
CREATE INDEX cors_origins_by_origin ON cors_origins USING btree (origin);
ALTER TABLE cors_origins ENABLE ROW LEVEL SECURITY;
CREATE POLICY cors_origins_owner ON cors_origins FOR SELECT TO gatehouse_owner USING (true);
CREATE POLICY cors_origins_platform ON cors_origins FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY cors_origins_tenant ON cors_origins USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE cors_origins TO gatehouse_app;
GRANT SELECT ON TABLE cors_origins TO gatehouse_platform;

-- decisions

CREATE TABLE decisions (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    reason text,
    reference text NOT NULL,
    request_id text,
    email text,
    email_key text,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id uuid,
    identity_id uuid,
    invite_id uuid,
    part text,
    policy_version integer,
    trace jsonb NOT NULL,
    attempt jsonb,
    duration_ms double precision NOT NULL,
    CONSTRAINT decisions_part_check CHECK ((part = ANY (ARRAY['domain'::text, 'user'::text, 'invite'::text])))
);

ALTER TABLE decisions FORCE ROW LEVEL SECURITY;
ALTER TABLE decisions
    ADD CONSTRAINT decisions_pkey PRIMARY KEY (tenant_id, id);
CREATE INDEX decisions_by_age ON decisions USING btree (tenant_id, created_at, id);
CREATE INDEX decisions_by_email ON decisions USING btree (tenant_id, email_key, created_at);
CREATE INDEX decisions_by_id ON decisions USING btree (((id)::text));
CREATE INDEX decisions_by_outcome ON decisions USING btree (tenant_id, outcome, created_at, id);
CREATE INDEX decisions_by_reference ON decisions USING btree (reference, tenant_id);
CREATE INDEX decisions_by_request ON decisions USING btree (request_id, tenant_id) WHERE (request_id IS NOT NULL);
CREATE INDEX decisions_by_user ON decisions USING btree (tenant_id, user_id, created_at, id) WHERE (user_id IS NOT NULL);
CREATE INDEX decisions_everywhere ON decisions USING btree (created_at, id) WHERE (created_at > '-infinity'::timestamp with time zone);
CREATE INDEX decisions_of_user ON decisions USING btree (tenant_id, user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX decisions_refused_by_address ON decisions USING btree (email_key, created_at, id) WHERE (outcome = 'refused'::text);
ALTER TABLE decisions ENABLE ROW LEVEL SECURITY;
CREATE POLICY decisions_platform ON decisions FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY decisions_tenant ON decisions USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT ON TABLE decisions TO gatehouse_app;
GRANT SELECT ON TABLE decisions TO gatehouse_platform;

-- directory_claimed_ids

CREATE TABLE directory_claimed_ids (
    id uuid NOT NULL
);
ALTER TABLE directory_claimed_ids
    ADD CONSTRAINT directory_claimed_ids_pkey PRIMARY KEY (id);

-- directory_domains

CREATE TABLE directory_domains (
    domain text NOT NULL,
    tenant_id uuid NOT NULL
);
ALTER TABLE directory_domains
    ADD CONSTRAINT directory_domains_pkey PRIMARY KEY (domain);

-- directory_hosts

CREATE TABLE directory_hosts (
    host text NOT NULL,
    tenant_id uuid NOT NULL,
    client text NOT NULL,
    by_platform boolean DEFAULT false NOT NULL
);
ALTER TABLE directory_hosts
    ADD CONSTRAINT directory_hosts_pkey PRIMARY KEY (host);
CREATE INDEX directory_hosts_by_tenant ON directory_hosts USING btree (tenant_id);

-- directory_locators

CREATE TABLE directory_locators (
    locator text NOT NULL,
    tenant_id uuid NOT NULL
);
ALTER TABLE directory_locators
    ADD CONSTRAINT directory_locators_pkey PRIMARY KEY (locator);

-- directory_logos

CREATE TABLE directory_logos (
    hash text NOT NULL,
    tenant_id uuid NOT NULL,
    media_type text NOT NULL,
    content bytea NOT NULL,
    CONSTRAINT directory_logos_content_check CHECK (((octet_length(content) >= 1) AND (octet_length(content) <= 20480))),
    CONSTRAINT directory_logos_hash_check CHECK ((hash ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT directory_logos_media_type_check CHECK ((media_type = ANY (ARRAY['image/png'::text, 'image/svg+xml'::text])))
);
ALTER TABLE directory_logos
    ADD CONSTRAINT directory_logos_pkey PRIMARY KEY (hash, tenant_id);
ALTER TABLE directory_logos
    ADD CONSTRAINT directory_logos_tenant_id_key UNIQUE (tenant_id);

-- directory_people

CREATE TABLE directory_people (
    key bytea NOT NULL,
    tenant_id uuid NOT NULL
);
ALTER TABLE directory_people
    ADD CONSTRAINT directory_people_pkey PRIMARY KEY (key, tenant_id);
CREATE INDEX directory_people_by_tenant ON directory_people USING btree (tenant_id);

-- directory_slugs

CREATE TABLE directory_slugs (
    slug text NOT NULL,
    tenant_id uuid NOT NULL
);
ALTER TABLE directory_slugs
    ADD CONSTRAINT directory_slugs_pkey PRIMARY KEY (slug);

-- domains

CREATE TABLE domains (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    domain text NOT NULL,
    display text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    include_subdomains boolean DEFAULT false NOT NULL,
    mode text,
    role text,
    token text NOT NULL,
    method text,
    created_at timestamp with time zone NOT NULL,
    verified_at timestamp with time zone,
    check_at timestamp with time zone,
    lost_at timestamp with time zone,
    changed_at timestamp with time zone,
    CONSTRAINT domains_method_check CHECK ((method = ANY (ARRAY['dns'::text, 'operator'::text]))),
    CONSTRAINT domains_mode_check CHECK ((mode = ANY (ARRAY['join'::text, 'ask'::text, 'invite_only'::text]))),
    CONSTRAINT domains_role_check CHECK ((role = ANY (ARRAY['member'::text, 'manager'::text]))),
    CONSTRAINT domains_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'verified'::text])))
);

ALTER TABLE domains FORCE ROW LEVEL SECURITY;
ALTER TABLE domains
    ADD CONSTRAINT domains_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE domains
    ADD CONSTRAINT domains_tenant_id_domain_key UNIQUE (tenant_id, domain);
CREATE INDEX domains_by_age ON domains USING btree (tenant_id, created_at, id);
CREATE INDEX domains_by_id ON domains USING btree (((id)::text));
CREATE INDEX domains_to_check ON domains USING btree (COALESCE(check_at, verified_at)) WHERE ((status = 'verified'::text) AND (method = 'dns'::text));
CREATE INDEX domains_unproved ON domains USING btree (domain) WHERE (status = 'pending'::text);
CREATE INDEX domains_without_proof ON domains USING btree (tenant_id, created_at, id) WHERE ((status = 'pending'::text) OR (lost_at IS NOT NULL));
ALTER TABLE domains ENABLE ROW LEVEL SECURITY;
CREATE POLICY domains_owner ON domains FOR SELECT TO gatehouse_owner USING (true);
CREATE POLICY domains_platform ON domains FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY domains_tenant ON domains USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE domains TO gatehouse_app;
GRANT SELECT ON TABLE domains TO gatehouse_platform;

-- email_changes

CREATE TABLE email_changes (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

ALTER TABLE email_changes FORCE ROW LEVEL SECURITY;
ALTER TABLE email_changes
    ADD CONSTRAINT email_changes_pkey PRIMARY KEY (tenant_id, user_id);
ALTER TABLE email_changes
    ADD CONSTRAINT email_changes_tenant_id_token_hash_key UNIQUE (tenant_id, token_hash);
ALTER TABLE email_changes
    ADD CONSTRAINT email_changes_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX email_changes_by_end ON email_changes USING btree (expires_at);
ALTER TABLE email_changes ENABLE ROW LEVEL SECURITY;
CREATE POLICY email_changes_platform ON email_changes FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY email_changes_tenant ON email_changes USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE email_changes TO gatehouse_app;
GRANT SELECT ON TABLE email_changes TO gatehouse_platform;

-- failed_sign_ins

CREATE TABLE failed_sign_ins (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    client text NOT NULL,
    operation text NOT NULL,
    reason text NOT NULL,
    request_id text NOT NULL,
    reference text,
    tries bigint,
    user_id uuid,
    operator_id uuid,
    number bigint,
    ip text,
    user_agent text,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE failed_sign_ins FORCE ROW LEVEL SECURITY;
ALTER TABLE failed_sign_ins
    ADD CONSTRAINT failed_sign_ins_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE failed_sign_ins
    ADD CONSTRAINT failed_sign_ins_user FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX failed_sign_ins_by_end ON failed_sign_ins USING btree (created_at);
CREATE INDEX failed_sign_ins_by_request ON failed_sign_ins USING btree (request_id, tenant_id);
CREATE INDEX failed_sign_ins_by_time ON failed_sign_ins USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX failed_sign_ins_by_user ON failed_sign_ins USING btree (tenant_id, user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX failed_sign_ins_numbered ON failed_sign_ins USING btree (tenant_id, number) WHERE (tries IS NULL);
CREATE INDEX failed_sign_ins_referred ON failed_sign_ins USING btree (reference, tenant_id) WHERE (reference IS NOT NULL);
CREATE INDEX wrong_passwords_numbered ON failed_sign_ins USING btree (tenant_id, number) WHERE (tries IS NOT NULL);
ALTER TABLE failed_sign_ins ENABLE ROW LEVEL SECURITY;
CREATE POLICY failed_sign_ins_platform ON failed_sign_ins FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY failed_sign_ins_tenant ON failed_sign_ins USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE failed_sign_ins TO gatehouse_app;
GRANT SELECT ON TABLE failed_sign_ins TO gatehouse_platform;

-- former_addresses

CREATE TABLE former_addresses (
    tenant_id uuid NOT NULL,
    email_key text NOT NULL,
    user_id uuid NOT NULL,
    email text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

ALTER TABLE former_addresses FORCE ROW LEVEL SECURITY;
ALTER TABLE former_addresses
    ADD CONSTRAINT former_addresses_pkey PRIMARY KEY (tenant_id, email_key);
ALTER TABLE former_addresses
    ADD CONSTRAINT former_addresses_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX former_addresses_by_end ON former_addresses USING btree (expires_at);
CREATE INDEX former_addresses_by_user ON former_addresses USING btree (tenant_id, user_id);
ALTER TABLE former_addresses ENABLE ROW LEVEL SECURITY;
CREATE POLICY former_addresses_platform ON former_addresses FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY former_addresses_tenant ON former_addresses USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE former_addresses TO gatehouse_app;
GRANT SELECT ON TABLE former_addresses TO gatehouse_platform;

-- former_identities

CREATE TABLE former_identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL
);

ALTER TABLE former_identities FORCE ROW LEVEL SECURITY;
ALTER TABLE former_identities
    ADD CONSTRAINT former_identities_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE former_identities
    ADD CONSTRAINT former_identities_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX former_identities_by_id ON former_identities USING btree (((id)::text));
CREATE INDEX former_identities_by_user ON former_identities USING btree (tenant_id, user_id);
ALTER TABLE former_identities ENABLE ROW LEVEL SECURITY;
CREATE POLICY former_identities_platform ON former_identities FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY former_identities_tenant ON former_identities USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE former_identities TO gatehouse_app;
GRANT SELECT ON TABLE former_identities TO gatehouse_platform;

-- hook_credentials

CREATE TABLE hook_credentials (
    id uuid NOT NULL,
    provider_id uuid NOT NULL,
    name text,
    sealed bytea NOT NULL,
    created_by text NOT NULL,
    created_by_type text DEFAULT ''::text NOT NULL,
    allowed_ips text[] DEFAULT '{}'::text[] NOT NULL,
    allowed_origins text[] DEFAULT '{}'::text[] NOT NULL,
    rate_limit integer,
    limit_shared_with uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    CONSTRAINT hook_credentials_rate_limit_check CHECK ((rate_limit > 0))
);
ALTER TABLE hook_credentials
    ADD CONSTRAINT hook_credentials_pkey PRIMARY KEY (id);
ALTER TABLE hook_credentials
    ADD CONSTRAINT hook_credentials_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE;
CREATE INDEX hook_credentials_by_maker ON hook_credentials USING btree (created_by) WHERE (created_by_type = 'key'::text);
CREATE INDEX hook_credentials_by_provider ON hook_credentials USING btree (provider_id, created_at, id);
GRANT SELECT,INSERT,DELETE ON TABLE hook_credentials TO gatehouse_app;

-- idempotency

CREATE TABLE idempotency (
    tenant_id uuid NOT NULL,
    principal text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    key_hash bytea NOT NULL,
    body_hash bytea NOT NULL,
    answer bytea,
    claim uuid,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (principal, method, path, key_hash);
CREATE INDEX idempotency_by_age ON idempotency USING btree (created_at);
CREATE INDEX idempotency_by_person ON idempotency USING gin (tenant_id, ids_in(answer)) WITH (fastupdate=off) WHERE (answer IS NOT NULL);
CREATE INDEX idempotency_by_tenant ON idempotency USING btree (tenant_id, created_at);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE idempotency TO gatehouse_app;
GRANT SELECT ON TABLE idempotency TO gatehouse_platform;

-- identities

CREATE TABLE identities (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    email text,
    email_vouched boolean DEFAULT false NOT NULL,
    email_verified boolean DEFAULT false NOT NULL,
    tenants_word boolean DEFAULT false NOT NULL,
    alias_count integer DEFAULT 0 NOT NULL,
    linked_by_type text,
    linked_by_id text,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone
);

ALTER TABLE identities FORCE ROW LEVEL SECURITY;
ALTER TABLE identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE identities
    ADD CONSTRAINT identities_tenant_id_provider_issuer_subject_key UNIQUE (tenant_id, provider, issuer, subject);
ALTER TABLE identities
    ADD CONSTRAINT identities_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX identities_by_id ON identities USING btree (((id)::text));
CREATE INDEX identities_by_issuer ON identities USING btree (provider, issuer) WHERE (user_id IS NOT NULL);
CREATE INDEX identities_by_provider ON identities USING btree (tenant_id, provider, user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX identities_by_subject ON identities USING btree (tenant_id, subject);
CREATE INDEX identities_of_user ON identities USING btree (tenant_id, user_id, created_at, id);
CREATE INDEX identities_vouched ON identities USING btree (tenant_id, email) WHERE email_vouched;
CREATE TRIGGER former_identity AFTER DELETE ON identities FOR EACH ROW EXECUTE FUNCTION former_identity_put();
ALTER TABLE identities ENABLE ROW LEVEL SECURITY;
CREATE POLICY identities_platform ON identities FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY identities_tenant ON identities USING ((tenant_id = ( SELECT current_tenant() AS current_tenant)));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE identities TO gatehouse_app;
GRANT SELECT ON TABLE identities TO gatehouse_platform;

-- identity_aliases

CREATE TABLE identity_aliases (
    tenant_id uuid NOT NULL,
    pool text NOT NULL,
    alias text NOT NULL,
    identity_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE identity_aliases FORCE ROW LEVEL SECURITY;
ALTER TABLE identity_aliases
    ADD CONSTRAINT identity_aliases_pkey PRIMARY KEY (tenant_id, pool, alias);
ALTER TABLE identity_aliases
    ADD CONSTRAINT identity_aliases_tenant_id_identity_id_fkey FOREIGN KEY (tenant_id, identity_id) REFERENCES identities(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX identity_aliases_by_identity ON identity_aliases USING btree (tenant_id, identity_id, created_at);
ALTER TABLE identity_aliases ENABLE ROW LEVEL SECURITY;
CREATE POLICY identity_aliases_platform ON identity_aliases FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY identity_aliases_tenant ON identity_aliases USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE identity_aliases TO gatehouse_app;
GRANT SELECT ON TABLE identity_aliases TO gatehouse_platform;

-- import_keys

CREATE TABLE import_keys (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    key bigint NOT NULL,
    "row" bigint NOT NULL
);

ALTER TABLE import_keys FORCE ROW LEVEL SECURITY;
ALTER TABLE import_keys
    ADD CONSTRAINT import_keys_pkey PRIMARY KEY (tenant_id, import_id, key, "row");
ALTER TABLE import_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY import_keys_platform ON import_keys FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY import_keys_tenant ON import_keys USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE import_keys TO gatehouse_app;
GRANT SELECT ON TABLE import_keys TO gatehouse_platform;

-- import_rows

CREATE TABLE import_rows (
    tenant_id uuid NOT NULL,
    import_id uuid NOT NULL,
    "row" bigint NOT NULL,
    email_key text,
    document text,
    code text,
    detail text
);

ALTER TABLE import_rows FORCE ROW LEVEL SECURITY;
ALTER TABLE import_rows
    ADD CONSTRAINT import_rows_pkey PRIMARY KEY (tenant_id, import_id, "row");
CREATE INDEX import_rows_by_person ON import_rows USING btree (tenant_id, email_key) WHERE (email_key IS NOT NULL);
ALTER TABLE import_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY import_rows_platform ON import_rows FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY import_rows_tenant ON import_rows USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE import_rows TO gatehouse_app;
GRANT SELECT ON TABLE import_rows TO gatehouse_platform;

-- imports

CREATE TABLE imports (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    job_id uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone
);

ALTER TABLE imports FORCE ROW LEVEL SECURITY;
ALTER TABLE imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (tenant_id, id);
CREATE INDEX imports_broken_off ON imports USING btree (expires_at) WHERE (expires_at IS NOT NULL);
ALTER TABLE imports ENABLE ROW LEVEL SECURITY;
CREATE POLICY imports_platform ON imports FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY imports_tenant ON imports USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE imports TO gatehouse_app;
GRANT SELECT ON TABLE imports TO gatehouse_platform;

-- inactive_users

CREATE TABLE inactive_users (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    warned_at timestamp with time zone,
    by_mail boolean DEFAULT false NOT NULL,
    suspended_at timestamp with time zone,
    suspended_version bigint
);

ALTER TABLE inactive_users FORCE ROW LEVEL SECURITY;
ALTER TABLE inactive_users
    ADD CONSTRAINT inactive_users_pkey PRIMARY KEY (tenant_id, user_id);
ALTER TABLE inactive_users
    ADD CONSTRAINT inactive_users_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE inactive_users ENABLE ROW LEVEL SECURITY;
CREATE POLICY inactive_users_platform ON inactive_users FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY inactive_users_tenant ON inactive_users USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE inactive_users TO gatehouse_app;
GRANT SELECT ON TABLE inactive_users TO gatehouse_platform;

-- inactivity_days

CREATE TABLE inactivity_days (
    tenant_id uuid NOT NULL,
    day timestamp with time zone NOT NULL,
    acts bigint DEFAULT 0 NOT NULL
);

ALTER TABLE inactivity_days FORCE ROW LEVEL SECURITY;
ALTER TABLE inactivity_days
    ADD CONSTRAINT inactivity_days_pkey PRIMARY KEY (tenant_id, day);
CREATE INDEX inactivity_days_by_day ON inactivity_days USING btree (day);
ALTER TABLE inactivity_days ENABLE ROW LEVEL SECURITY;
CREATE POLICY inactivity_days_platform ON inactivity_days FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY inactivity_days_tenant ON inactivity_days USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE inactivity_days TO gatehouse_app;
GRANT SELECT ON TABLE inactivity_days TO gatehouse_platform;

-- invites

CREATE TABLE invites (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    role text NOT NULL,
    message text,
    status text DEFAULT 'pending'::text NOT NULL,
    token_hash bytea NOT NULL,
    user_id uuid,
    external boolean DEFAULT false NOT NULL,
    external_id text COLLATE pg_catalog."C",
    public_attributes text DEFAULT '{}'::text NOT NULL,
    private_attributes text DEFAULT '{}'::text NOT NULL,
    return_to text,
    inviter_type text NOT NULL,
    inviter_id text NOT NULL,
    inviter_name text NOT NULL,
    role_by_type text,
    role_by_id text,
    delivery text NOT NULL,
    sent_count integer DEFAULT 1 NOT NULL,
    sent_at timestamp with time zone,
    mail_id uuid,
    delivery_status text,
    delivery_detail text,
    accepted_at timestamp with time zone,
    accepted_user_id uuid,
    accepted_identity_id uuid,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT invites_delivery_check CHECK ((delivery = ANY (ARRAY['mail'::text, 'link'::text]))),
    CONSTRAINT invites_delivery_detail_check CHECK ((octet_length(delivery_detail) <= 2048)),
    CONSTRAINT invites_delivery_status_check CHECK ((delivery_status = ANY (ARRAY['queued'::text, 'sent'::text, 'refused'::text, 'bounced'::text]))),
    CONSTRAINT invites_external_id_check CHECK (((octet_length(external_id) >= 1) AND (octet_length(external_id) <= 255))),
    CONSTRAINT invites_private_attributes_check CHECK ((octet_length(private_attributes) <= 16384)),
    CONSTRAINT invites_public_attributes_check CHECK ((octet_length(public_attributes) <= 16384)),
    CONSTRAINT invites_role_check CHECK ((role = ANY (ARRAY['member'::text, 'manager'::text, 'admin'::text]))),
    CONSTRAINT invites_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'accepted'::text, 'revoked'::text])))
);

ALTER TABLE invites FORCE ROW LEVEL SECURITY;
ALTER TABLE invites
    ADD CONSTRAINT invites_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE invites
    ADD CONSTRAINT invites_tenant_id_token_hash_key UNIQUE (tenant_id, token_hash);
CREATE INDEX invites_address ON invites USING gin (tenant_id, email_key gin_trgm_ops);
CREATE INDEX invites_by_accepter ON invites USING btree (tenant_id, accepted_user_id) WHERE (accepted_user_id IS NOT NULL);
CREATE INDEX invites_by_age ON invites USING btree (tenant_id, created_at, id);
CREATE INDEX invites_by_delivery ON invites USING btree (tenant_id, delivery_status, created_at, id) WHERE (delivery_status IS NOT NULL);
CREATE INDEX invites_by_email ON invites USING btree (tenant_id, email_key, id);
CREATE INDEX invites_by_external_id ON invites USING btree (tenant_id, external_id, created_at, id) WHERE (external_id IS NOT NULL);
CREATE INDEX invites_by_id ON invites USING btree (((id)::text));
CREATE INDEX invites_by_inviter ON invites USING btree (tenant_id, inviter_type, inviter_id, created_at);
CREATE INDEX invites_by_inviting_user ON invites USING btree (tenant_id, inviter_id) WHERE (inviter_type = 'user'::text);
CREATE INDEX invites_by_role_giver ON invites USING btree (tenant_id, role_by_id) WHERE (role_by_id IS NOT NULL);
CREATE INDEX invites_by_said_address ON invites USING gin (tenant_id, addresses_in(delivery_detail)) WITH (fastupdate=off) WHERE (delivery_detail IS NOT NULL);
CREATE INDEX invites_by_status ON invites USING btree (tenant_id, status, created_at, id);
CREATE INDEX invites_by_status_email ON invites USING btree (tenant_id, status, email_key, id);
CREATE INDEX invites_live ON invites USING btree (tenant_id, created_at, id) INCLUDE (expires_at) WHERE (status = 'pending'::text);
CREATE UNIQUE INDEX invites_one_pending ON invites USING btree (tenant_id, email_key) WHERE (status = 'pending'::text);
CREATE INDEX invites_sample ON invites USING btree (tenant_id, id) INCLUDE (email_key);
CREATE INDEX invites_undelivered ON invites USING btree (tenant_id, created_at, id) INCLUDE (expires_at) WHERE ((status = 'pending'::text) AND (delivery_status = ANY (ARRAY['refused'::text, 'bounced'::text])));
ALTER TABLE invites ENABLE ROW LEVEL SECURITY;
CREATE POLICY invites_owner ON invites FOR SELECT TO gatehouse_owner USING (true);
CREATE POLICY invites_platform ON invites FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY invites_tenant ON invites USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE invites TO gatehouse_app;
GRANT SELECT ON TABLE invites TO gatehouse_platform;

-- job_rows

CREATE TABLE job_rows (
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL,
    "row" bigint NOT NULL,
    status text NOT NULL,
    code text,
    detail text,
    target_type text,
    target_id uuid,
    input jsonb,
    email_key text,
    external_id text,
    effect jsonb,
    CONSTRAINT job_rows_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'done'::text, 'unchanged'::text, 'failed'::text, 'undone'::text, 'kept'::text])))
);

ALTER TABLE job_rows FORCE ROW LEVEL SECURITY;
ALTER TABLE job_rows
    ADD CONSTRAINT job_rows_pkey PRIMARY KEY (tenant_id, job_id, "row");
CREATE INDEX job_rows_by_external_id ON job_rows USING btree (tenant_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX job_rows_by_person ON job_rows USING btree (tenant_id, email_key) WHERE (email_key IS NOT NULL);
CREATE INDEX job_rows_by_target ON job_rows USING btree (tenant_id, target_id) WHERE (effect IS NOT NULL);
CREATE INDEX job_rows_by_thing ON job_rows USING btree (tenant_id, target_id);
CREATE INDEX job_rows_contested ON job_rows USING btree (tenant_id, target_id) WHERE (external_id IS NOT NULL);
ALTER TABLE job_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY job_rows_platform ON job_rows FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY job_rows_tenant ON job_rows USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE job_rows TO gatehouse_app;
GRANT SELECT ON TABLE job_rows TO gatehouse_platform;

-- jobs

CREATE TABLE jobs (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    reason text,
    dry_run boolean DEFAULT false NOT NULL,
    is_undoing boolean DEFAULT false NOT NULL,
    parameters jsonb NOT NULL,
    state jsonb,
    "position" bigint DEFAULT 0 NOT NULL,
    total bigint,
    done bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    undone bigint DEFAULT 0 NOT NULL,
    kept bigint DEFAULT 0 NOT NULL,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    actor_type text NOT NULL,
    actor_id text NOT NULL,
    actor_name text NOT NULL,
    actor_home uuid,
    fence bigint DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone,
    worked_us bigint DEFAULT 0 NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    undo_until timestamp with time zone,
    kept_until timestamp with time zone,
    CONSTRAINT jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text, 'cancelled'::text, 'done'::text, 'failed'::text, 'undone'::text])))
);

ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
ALTER TABLE jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (tenant_id, id);
CREATE INDEX jobs_by_actor ON jobs USING btree (tenant_id, actor_id);
CREATE INDEX jobs_by_age ON jobs USING btree (created_at, id);
CREATE INDEX jobs_by_id ON jobs USING btree (((id)::text));
CREATE INDEX jobs_by_kind ON jobs USING btree (tenant_id, kind, status);
CREATE INDEX jobs_by_maker ON jobs USING btree (tenant_id, created_by_id);
CREATE INDEX jobs_by_tenant ON jobs USING btree (tenant_id, created_at, id);
CREATE INDEX jobs_due ON jobs USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX jobs_held ON jobs USING btree (tenant_id) WHERE ((status = 'paused'::text) AND (reason = 'tenant_suspended'::text));
CREATE INDEX jobs_past ON jobs USING btree (kept_until) WHERE (kept_until IS NOT NULL);
CREATE UNIQUE INDEX jobs_running ON jobs USING btree (tenant_id) WHERE (status = 'running'::text);
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY jobs_platform ON jobs FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY jobs_tenant ON jobs USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE jobs TO gatehouse_app;
GRANT SELECT ON TABLE jobs TO gatehouse_platform;

-- join_links

CREATE TABLE join_links (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    domains text[] DEFAULT '{}'::text[] NOT NULL,
    max_uses integer NOT NULL,
    uses integer DEFAULT 0 NOT NULL,
    return_to text,
    maker_type text NOT NULL,
    maker_id text NOT NULL,
    maker_name text NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT join_links_check CHECK (((uses >= 0) AND (uses <= max_uses))),
    CONSTRAINT join_links_max_uses_check CHECK (((max_uses >= 1) AND (max_uses <= 10000)))
);

ALTER TABLE join_links FORCE ROW LEVEL SECURITY;
ALTER TABLE join_links
    ADD CONSTRAINT join_links_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE join_links
    ADD CONSTRAINT join_links_tenant_id_token_hash_key UNIQUE (tenant_id, token_hash);
CREATE INDEX join_links_by_age ON join_links USING btree (tenant_id, created_at, id);
CREATE INDEX join_links_by_id ON join_links USING btree (((id)::text));
CREATE INDEX join_links_by_maker ON join_links USING btree (tenant_id, maker_id) WHERE (maker_type = 'user'::text);
CREATE INDEX join_links_live ON join_links USING btree (tenant_id, expires_at) WHERE (revoked_at IS NULL);
ALTER TABLE join_links ENABLE ROW LEVEL SECURITY;
CREATE POLICY join_links_platform ON join_links FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY join_links_tenant ON join_links USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE join_links TO gatehouse_app;
GRANT SELECT ON TABLE join_links TO gatehouse_platform;

-- known_devices

CREATE TABLE known_devices (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    key bytea NOT NULL,
    last_at timestamp with time zone NOT NULL
);

ALTER TABLE known_devices FORCE ROW LEVEL SECURITY;
ALTER TABLE known_devices
    ADD CONSTRAINT known_devices_pkey PRIMARY KEY (tenant_id, user_id, key);
ALTER TABLE known_devices
    ADD CONSTRAINT known_devices_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE known_devices ENABLE ROW LEVEL SECURITY;
CREATE POLICY known_devices_platform ON known_devices FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY known_devices_tenant ON known_devices USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE known_devices TO gatehouse_app;
GRANT SELECT ON TABLE known_devices TO gatehouse_platform;

-- link_grants

CREATE TABLE link_grants (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    made_by_type text,
    made_by_id text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);

ALTER TABLE link_grants FORCE ROW LEVEL SECURITY;
ALTER TABLE link_grants
    ADD CONSTRAINT link_grants_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE link_grants
    ADD CONSTRAINT link_grants_tenant_id_token_hash_key UNIQUE (tenant_id, token_hash);
ALTER TABLE link_grants
    ADD CONSTRAINT link_grants_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX link_grants_by_end ON link_grants USING btree (expires_at);
CREATE INDEX link_grants_by_maker ON link_grants USING btree (tenant_id, made_by_id) WHERE (made_by_id IS NOT NULL);
CREATE INDEX link_grants_by_user ON link_grants USING btree (tenant_id, user_id);
CREATE INDEX link_grants_ended ON link_grants USING btree (tenant_id, expires_at);
ALTER TABLE link_grants ENABLE ROW LEVEL SECURITY;
CREATE POLICY link_grants_platform ON link_grants FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY link_grants_tenant ON link_grants USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE link_grants TO gatehouse_app;
GRANT SELECT ON TABLE link_grants TO gatehouse_platform;

-- login_states

CREATE TABLE login_states (
    tenant_id uuid NOT NULL,
    state_hash bytea NOT NULL,
    client text NOT NULL,
    provider_id uuid NOT NULL,
    redirect_uri text NOT NULL,
    nonce text NOT NULL,
    challenge text,
    secrets bytea,
    device text,
    browser_hash bytea,
    invite_hash bytea,
    join_hash bytea,
    grant_hash bytea,
    operator_session uuid,
    asked_anew boolean DEFAULT false NOT NULL,
    asked_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

ALTER TABLE login_states FORCE ROW LEVEL SECURITY;
ALTER TABLE login_states
    ADD CONSTRAINT login_states_pkey PRIMARY KEY (tenant_id, state_hash);
CREATE INDEX login_states_by_end ON login_states USING btree (tenant_id, expires_at);
CREATE INDEX login_states_ended ON login_states USING btree (expires_at);
ALTER TABLE login_states ENABLE ROW LEVEL SECURITY;
CREATE POLICY login_states_platform ON login_states FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY login_states_tenant ON login_states USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE login_states TO gatehouse_app;
GRANT SELECT ON TABLE login_states TO gatehouse_platform;

-- mail

CREATE TABLE mail (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    about uuid NOT NULL,
    people uuid[],
    recipient bytea,
    letter bytea,
    return_token text,
    attempts integer DEFAULT 0 NOT NULL,
    next_at timestamp with time zone,
    urgent boolean DEFAULT false NOT NULL,
    turn timestamp with time zone DEFAULT now() NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    failure text,
    CONSTRAINT mail_kind_check CHECK ((kind ~ '^[a-z_]{1,40}$'::text))
);
ALTER TABLE mail
    ADD CONSTRAINT mail_pkey PRIMARY KEY (id);
CREATE INDEX mail_by_age ON mail USING btree (created_at);
CREATE INDEX mail_by_recipient ON mail USING btree (recipient, created_at);
CREATE UNIQUE INDEX mail_by_return_token ON mail USING btree (tenant_id, return_token) WHERE (return_token IS NOT NULL);
CREATE INDEX mail_by_tenants_kind ON mail USING btree (tenant_id, kind, created_at);
CREATE INDEX mail_by_tenants_people ON mail USING gin (tenant_id, people) WITH (fastupdate=off) WHERE (people IS NOT NULL);
CREATE INDEX mail_by_tenants_recipient ON mail USING btree (tenant_id, recipient, created_at);
CREATE INDEX mail_by_tenants_thing ON mail USING btree (tenant_id, about);
CREATE INDEX mail_by_tenants_turn ON mail USING btree (tenant_id, urgent, turn) WHERE (next_at IS NOT NULL);
CREATE INDEX mail_by_thing ON mail USING btree (about, created_at);
CREATE INDEX mail_by_turn ON mail USING btree (turn, id) WHERE (next_at IS NOT NULL);
CREATE INDEX mail_waiting ON mail USING btree (next_at, id) WHERE (next_at IS NOT NULL);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE mail TO gatehouse_app;
GRANT SELECT ON TABLE mail TO gatehouse_platform;

-- merged_users

CREATE TABLE merged_users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL
);

ALTER TABLE merged_users FORCE ROW LEVEL SECURITY;
ALTER TABLE merged_users
    ADD CONSTRAINT merged_users_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE merged_users
    ADD CONSTRAINT merged_users_tenant_id_id_fkey FOREIGN KEY (tenant_id, id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX merged_users_by_id ON merged_users USING btree (((id)::text));
CREATE INDEX merged_users_by_user ON merged_users USING btree (tenant_id, user_id, id);
ALTER TABLE merged_users ENABLE ROW LEVEL SECURITY;
CREATE POLICY merged_users_platform ON merged_users FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY merged_users_tenant ON merged_users USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE merged_users TO gatehouse_app;
GRANT SELECT ON TABLE merged_users TO gatehouse_platform;

-- minute_counts

CREATE TABLE minute_counts (
    key bytea NOT NULL,
    minute timestamp with time zone NOT NULL,
    count integer NOT NULL
);
ALTER TABLE minute_counts
    ADD CONSTRAINT minute_counts_pkey PRIMARY KEY (key);
CREATE INDEX minute_counts_by_age ON minute_counts USING btree (minute);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE minute_counts TO gatehouse_app;

-- operator_devices

CREATE TABLE operator_devices (
    operator_id uuid NOT NULL,
    device_hash bytea NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT operator_devices_device_hash_check CHECK ((octet_length(device_hash) = 32))
);
ALTER TABLE operator_devices
    ADD CONSTRAINT operator_devices_pkey PRIMARY KEY (operator_id, device_hash);
ALTER TABLE operator_devices
    ADD CONSTRAINT operator_devices_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE;
CREATE INDEX operator_devices_by_age ON operator_devices USING btree (last_at);
CREATE INDEX operator_devices_by_device ON operator_devices USING btree (device_hash);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operator_devices TO gatehouse_app;

-- operator_identities

CREATE TABLE operator_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    operator_id uuid NOT NULL,
    disowned boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE operator_identities
    ADD CONSTRAINT operator_identities_pkey PRIMARY KEY (issuer, subject);
ALTER TABLE operator_identities
    ADD CONSTRAINT operator_identities_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE;
CREATE INDEX operator_identities_by_operator ON operator_identities USING btree (operator_id);
CREATE UNIQUE INDEX operator_identities_one ON operator_identities USING btree (operator_id, issuer) WHERE (NOT disowned);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operator_identities TO gatehouse_app;

-- operator_links

CREATE TABLE operator_links (
    token_hash bytea NOT NULL,
    operator_id uuid NOT NULL,
    purpose text NOT NULL,
    mailed boolean DEFAULT false NOT NULL,
    factor text,
    factor_id uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT operator_links_factor_check CHECK ((factor = ANY (ARRAY['passkey'::text, 'totp'::text, 'recovery_codes'::text, 'provider'::text]))),
    CONSTRAINT operator_links_purpose_check CHECK ((purpose = ANY (ARRAY['sign_in'::text, 'password_reset'::text, 'not_me'::text])))
);
ALTER TABLE operator_links
    ADD CONSTRAINT operator_links_pkey PRIMARY KEY (token_hash);
ALTER TABLE operator_links
    ADD CONSTRAINT operator_links_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE;
CREATE INDEX operator_links_by_end ON operator_links USING btree (expires_at);
CREATE INDEX operator_links_by_operator ON operator_links USING btree (operator_id);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operator_links TO gatehouse_app;

-- operator_passkeys

CREATE TABLE operator_passkeys (
    id uuid NOT NULL,
    operator_id uuid NOT NULL,
    credential_id bytea NOT NULL,
    relying_party text NOT NULL,
    public_key bytea NOT NULL,
    algorithm integer NOT NULL,
    counter bigint NOT NULL,
    name text NOT NULL,
    transports text[] NOT NULL,
    backup_eligible boolean NOT NULL,
    backed_up boolean NOT NULL,
    usable boolean DEFAULT true NOT NULL,
    disowned boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT operator_passkeys_algorithm_check CHECK ((algorithm = ANY (ARRAY['-7'::integer, '-8'::integer, '-257'::integer]))),
    CONSTRAINT operator_passkeys_counter_check CHECK (((counter >= 0) AND (counter <= '4294967295'::bigint))),
    CONSTRAINT operator_passkeys_credential_id_check CHECK (((octet_length(credential_id) >= 1) AND (octet_length(credential_id) <= 1023))),
    CONSTRAINT operator_passkeys_public_key_check CHECK ((octet_length(public_key) <= 4096))
);
ALTER TABLE operator_passkeys
    ADD CONSTRAINT operator_passkeys_credential_id_key UNIQUE (credential_id);
ALTER TABLE operator_passkeys
    ADD CONSTRAINT operator_passkeys_pkey PRIMARY KEY (id);
ALTER TABLE operator_passkeys
    ADD CONSTRAINT operator_passkeys_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE;
CREATE INDEX operator_passkeys_by_operator ON operator_passkeys USING btree (operator_id, created_at);
CREATE INDEX operator_passkeys_by_party ON operator_passkeys USING btree (relying_party, created_at);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operator_passkeys TO gatehouse_app;

-- operator_recovery_codes

CREATE TABLE operator_recovery_codes (
    operator_id uuid NOT NULL,
    code_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);
ALTER TABLE operator_recovery_codes
    ADD CONSTRAINT operator_recovery_codes_pkey PRIMARY KEY (operator_id, code_hash);
ALTER TABLE operator_recovery_codes
    ADD CONSTRAINT operator_recovery_codes_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operator_recovery_codes TO gatehouse_app;

-- operator_sessions

CREATE TABLE operator_sessions (
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    operator_id uuid NOT NULL,
    method text DEFAULT 'password'::text NOT NULL,
    stepped_up_at timestamp with time zone,
    provider_id uuid,
    provider_factor boolean DEFAULT false NOT NULL,
    ip text,
    user_agent text,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT operator_sessions_method_check CHECK ((method = ANY (ARRAY['password'::text, 'totp'::text, 'recovery_code'::text, 'passkey'::text, 'provider'::text, 'provider_mfa'::text, 'link'::text])))
);
ALTER TABLE operator_sessions
    ADD CONSTRAINT operator_sessions_pkey PRIMARY KEY (id);
ALTER TABLE operator_sessions
    ADD CONSTRAINT operator_sessions_token_hash_key UNIQUE (token_hash);
ALTER TABLE operator_sessions
    ADD CONSTRAINT operator_sessions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE;
CREATE INDEX operator_sessions_by_end ON operator_sessions USING btree (expires_at);
CREATE INDEX operator_sessions_by_operator ON operator_sessions USING btree (operator_id);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operator_sessions TO gatehouse_app;

-- operator_sign_in

CREATE TABLE operator_sign_in (
    single boolean DEFAULT true NOT NULL,
    provider_id uuid NOT NULL,
    domains text[] NOT NULL,
    required boolean DEFAULT false NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT operator_sign_in_domains_check CHECK (((cardinality(domains) >= 1) AND (cardinality(domains) <= 100))),
    CONSTRAINT operator_sign_in_single_check CHECK (single)
);
ALTER TABLE operator_sign_in
    ADD CONSTRAINT operator_sign_in_pkey PRIMARY KEY (single);
ALTER TABLE operator_sign_in
    ADD CONSTRAINT operator_sign_in_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operator_sign_in TO gatehouse_app;

-- operator_totp

CREATE TABLE operator_totp (
    operator_id uuid NOT NULL,
    confirmed boolean NOT NULL,
    seed bytea NOT NULL,
    last_step bigint DEFAULT 0 NOT NULL,
    disowned boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE operator_totp
    ADD CONSTRAINT operator_totp_pkey PRIMARY KEY (operator_id, confirmed);
ALTER TABLE operator_totp
    ADD CONSTRAINT operator_totp_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id) ON DELETE CASCADE;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operator_totp TO gatehouse_app;

-- operators

CREATE TABLE operators (
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    name text,
    role text NOT NULL,
    tenant_id uuid,
    status text DEFAULT 'active'::text NOT NULL,
    confirmed boolean DEFAULT false NOT NULL,
    password_hash text,
    second_factor_due_at timestamp with time zone,
    passkey_handle bytea,
    proof_version bigint DEFAULT 0 NOT NULL,
    last_sign_in_at timestamp with time zone,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT operators_passkey_handle_check CHECK ((octet_length(passkey_handle) = 32)),
    CONSTRAINT operators_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'support'::text, 'auditor'::text]))),
    CONSTRAINT operators_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'suspended'::text])))
);
ALTER TABLE operators
    ADD CONSTRAINT operators_passkey_handle_key UNIQUE (passkey_handle);
ALTER TABLE operators
    ADD CONSTRAINT operators_pkey PRIMARY KEY (id);
CREATE INDEX operators_by_age ON operators USING btree (created_at, id);
CREATE INDEX operators_by_tenant ON operators USING btree (tenant_id, created_at);
CREATE INDEX operators_of_platform ON operators USING btree (id) WHERE (tenant_id IS NULL);
CREATE UNIQUE INDEX operators_one_confirmed ON operators USING btree (email_key) WHERE confirmed;
CREATE UNIQUE INDEX operators_one_in_scope ON operators USING btree (email_key, COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid));
CREATE INDEX operators_owners ON operators USING btree (COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid)) WHERE ((role = 'owner'::text) AND (status = 'active'::text) AND (last_sign_in_at IS NOT NULL));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE operators TO gatehouse_app;

-- password_resets

CREATE TABLE password_resets (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_id uuid NOT NULL,
    by_operator boolean DEFAULT false NOT NULL,
    made_by_type text,
    made_by_id text,
    return_to text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);

ALTER TABLE password_resets FORCE ROW LEVEL SECURITY;
ALTER TABLE password_resets
    ADD CONSTRAINT password_resets_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE password_resets
    ADD CONSTRAINT password_resets_tenant_id_token_hash_key UNIQUE (tenant_id, token_hash);
ALTER TABLE password_resets
    ADD CONSTRAINT password_resets_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX password_resets_by_end ON password_resets USING btree (expires_at);
CREATE INDEX password_resets_by_maker ON password_resets USING btree (tenant_id, made_by_id) WHERE (made_by_id IS NOT NULL);
CREATE INDEX password_resets_by_user ON password_resets USING btree (tenant_id, user_id);
CREATE INDEX password_resets_ended ON password_resets USING btree (tenant_id, expires_at);
ALTER TABLE password_resets ENABLE ROW LEVEL SECURITY;
CREATE POLICY password_resets_platform ON password_resets FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY password_resets_tenant ON password_resets USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE password_resets TO gatehouse_app;
GRANT SELECT ON TABLE password_resets TO gatehouse_platform;

-- pending_choices

CREATE TABLE pending_choices (
    identity bytea NOT NULL,
    tenant_id uuid NOT NULL,
    email_key text NOT NULL,
    declined_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
ALTER TABLE pending_choices
    ADD CONSTRAINT pending_choices_pkey PRIMARY KEY (identity, tenant_id);
CREATE INDEX pending_choices_by_address ON pending_choices USING btree (tenant_id, email_key);
CREATE INDEX pending_choices_by_end ON pending_choices USING btree (expires_at);
CREATE INDEX pending_choices_by_tenant ON pending_choices USING btree (tenant_id);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pending_choices TO gatehouse_app;

-- platform_anchor

CREATE TABLE platform_anchor (
    id uuid NOT NULL,
    CONSTRAINT platform_anchor_id_check CHECK ((id = '00000000-0000-0000-0000-000000000000'::uuid))
);
ALTER TABLE platform_anchor
    ADD CONSTRAINT platform_anchor_pkey PRIMARY KEY (id);
GRANT SELECT ON TABLE platform_anchor TO gatehouse_app;

-- policies

CREATE TABLE policies (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    document jsonb NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE policies FORCE ROW LEVEL SECURITY;
ALTER TABLE policies
    ADD CONSTRAINT policies_pkey PRIMARY KEY (tenant_id, version);
ALTER TABLE policies ENABLE ROW LEVEL SECURITY;
CREATE POLICY policies_owner ON policies FOR SELECT TO gatehouse_owner USING (true);
CREATE POLICY policies_platform ON policies FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY policies_tenant ON policies USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT ON TABLE policies TO gatehouse_app;
GRANT SELECT ON TABLE policies TO gatehouse_platform;

-- policy_trials

CREATE TABLE policy_trials (
    tenant_id uuid NOT NULL,
    content bytea NOT NULL,
    version integer NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

ALTER TABLE policy_trials FORCE ROW LEVEL SECURITY;
ALTER TABLE policy_trials
    ADD CONSTRAINT policy_trials_pkey PRIMARY KEY (tenant_id);
CREATE INDEX policy_trials_by_end ON policy_trials USING btree (expires_at);
ALTER TABLE policy_trials ENABLE ROW LEVEL SECURITY;
CREATE POLICY policy_trials_platform ON policy_trials FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY policy_trials_tenant ON policy_trials USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE policy_trials TO gatehouse_app;
GRANT SELECT ON TABLE policy_trials TO gatehouse_platform;

-- providers

CREATE TABLE providers (
    id uuid NOT NULL,
    tenant_id uuid,
    kind text NOT NULL,
    name text NOT NULL,
    issuer text NOT NULL,
    document jsonb NOT NULL,
    secret bytea,
    confirmed boolean DEFAULT true NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT providers_kind_check CHECK ((kind = ANY (ARRAY['oidc'::text, 'google'::text, 'github'::text, 'cognito'::text, 'password'::text])))
);
ALTER TABLE providers
    ADD CONSTRAINT providers_pkey PRIMARY KEY (id);
CREATE INDEX providers_by_age ON providers USING btree (created_at, id);
CREATE INDEX providers_by_issuer ON providers USING btree (issuer);
CREATE INDEX providers_by_tenant ON providers USING btree (tenant_id, created_at, id);
CREATE UNIQUE INDEX providers_one_per_owner ON providers USING btree (kind, issuer, COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid));
CREATE UNIQUE INDEX providers_one_pool ON providers USING btree (issuer) WHERE ((kind = 'cognito'::text) AND confirmed);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE providers TO gatehouse_app;

-- provisioning_attempts

CREATE TABLE provisioning_attempts (
    decision_id uuid NOT NULL,
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL
);
ALTER TABLE provisioning_attempts
    ADD CONSTRAINT provisioning_attempts_pkey PRIMARY KEY (id);
CREATE INDEX provisioning_attempts_by_age ON provisioning_attempts USING btree (at);
CREATE INDEX provisioning_attempts_by_decision ON provisioning_attempts USING btree (decision_id);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE provisioning_attempts TO gatehouse_app;

-- provisioning_locks

CREATE TABLE provisioning_locks (
    key bytea NOT NULL
);
ALTER TABLE provisioning_locks
    ADD CONSTRAINT provisioning_locks_pkey PRIMARY KEY (key);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE provisioning_locks TO gatehouse_app;

-- provisioning_retries

CREATE TABLE provisioning_retries (
    digest bytea NOT NULL,
    tenant_id uuid NOT NULL,
    decision_id uuid NOT NULL,
    answer text NOT NULL,
    reference text NOT NULL,
    recorded jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE provisioning_retries
    ADD CONSTRAINT provisioning_retries_pkey PRIMARY KEY (digest);
CREATE INDEX provisioning_retries_by_age ON provisioning_retries USING btree (created_at);
CREATE INDEX provisioning_retries_by_decision ON provisioning_retries USING btree (decision_id);
CREATE INDEX provisioning_retries_by_tenant ON provisioning_retries USING btree (tenant_id);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE provisioning_retries TO gatehouse_app;

-- refused_origins

CREATE TABLE refused_origins (
    tenant_id uuid NOT NULL,
    hour timestamp with time zone NOT NULL,
    origin text NOT NULL,
    count bigint NOT NULL,
    first_seen timestamp with time zone NOT NULL,
    last_seen timestamp with time zone NOT NULL,
    paths text[] NOT NULL
);

ALTER TABLE refused_origins FORCE ROW LEVEL SECURITY;
ALTER TABLE refused_origins
    ADD CONSTRAINT refused_origins_pkey PRIMARY KEY (tenant_id, hour, origin);
CREATE INDEX refused_origins_by_hour ON refused_origins USING btree (hour);
ALTER TABLE refused_origins ENABLE ROW LEVEL SECURITY;
CREATE POLICY refused_origins_platform ON refused_origins FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY refused_origins_tenant ON refused_origins USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE refused_origins TO gatehouse_app;
GRANT SELECT ON TABLE refused_origins TO gatehouse_platform;

-- replicas

CREATE TABLE replicas (
    id uuid NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    server timestamp with time zone DEFAULT pg_postmaster_start_time() NOT NULL
);
ALTER TABLE replicas
    ADD CONSTRAINT replicas_pkey PRIMARY KEY (id);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE replicas TO gatehouse_app;

-- reservations

CREATE TABLE reservations (
    caller uuid NOT NULL,
    provider text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    number bigint NOT NULL,
    email_key text NOT NULL,
    tenant_id uuid,
    invite_id uuid,
    join_link_id uuid,
    link_grant bytea,
    alias text,
    expires_at timestamp with time zone NOT NULL
);
ALTER TABLE reservations ALTER COLUMN number ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME reservations_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE reservations
    ADD CONSTRAINT reservations_pkey PRIMARY KEY (caller, provider, issuer, subject);
CREATE INDEX reservations_by_address ON reservations USING btree (caller, email_key, expires_at);
CREATE INDEX reservations_by_alias ON reservations USING btree (caller, provider, issuer, alias) WHERE (alias IS NOT NULL);
CREATE INDEX reservations_by_end ON reservations USING btree (expires_at);
CREATE INDEX reservations_by_pool ON reservations USING btree (caller, issuer, expires_at);
CREATE INDEX reservations_by_tenant ON reservations USING btree (tenant_id, email_key);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE reservations TO gatehouse_app;

-- reset_asks

CREATE TABLE reset_asks (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    about bytea NOT NULL,
    email_key text,
    return_to text,
    next_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE reset_asks
    ADD CONSTRAINT reset_asks_pkey PRIMARY KEY (id);
CREATE INDEX reset_asks_by_address ON reset_asks USING btree (tenant_id, email_key) WHERE (email_key IS NOT NULL);
CREATE INDEX reset_asks_by_age ON reset_asks USING btree (created_at);
CREATE INDEX reset_asks_by_thing ON reset_asks USING btree (about, created_at);
CREATE INDEX reset_asks_due ON reset_asks USING btree (next_at, id) WHERE (next_at IS NOT NULL);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE reset_asks TO gatehouse_app;

-- revocations

CREATE TABLE revocations (
    seq bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
ALTER TABLE revocations ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME revocations_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE revocations
    ADD CONSTRAINT revocations_pkey PRIMARY KEY (seq);
CREATE INDEX revocations_by_time ON revocations USING btree (at);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE revocations TO gatehouse_app;

-- schema_migrations

CREATE TABLE schema_migrations (
    version text NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
GRANT SELECT ON TABLE schema_migrations TO gatehouse_app;

-- secret_key_holders

CREATE TABLE secret_key_holders (
    replica uuid NOT NULL,
    keys bytea[] NOT NULL,
    sealing bytea NOT NULL,
    seen_at timestamp with time zone NOT NULL
);
ALTER TABLE secret_key_holders
    ADD CONSTRAINT secret_key_holders_pkey PRIMARY KEY (replica);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE secret_key_holders TO gatehouse_app;

-- secret_keys

CREATE TABLE secret_keys (
    id bytea NOT NULL,
    canary bytea NOT NULL,
    seals boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT secret_keys_id_check CHECK ((length(id) = 4))
);
ALTER TABLE secret_keys
    ADD CONSTRAINT secret_keys_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX secret_keys_one_seals ON secret_keys USING btree (seals) WHERE seals;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE secret_keys TO gatehouse_app;

-- sessions

CREATE TABLE sessions (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    client text NOT NULL,
    token_hash bytea NOT NULL,
    method text DEFAULT 'oauth'::text NOT NULL,
    device text,
    device_type text,
    device_os text,
    ip text,
    user_agent text,
    elevated_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT sessions_method_check CHECK ((method = ANY (ARRAY['password'::text, 'oauth'::text])))
);

ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE sessions
    ADD CONSTRAINT sessions_tenant_id_token_hash_key UNIQUE (tenant_id, token_hash);
ALTER TABLE sessions
    ADD CONSTRAINT sessions_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX sessions_by_end ON sessions USING btree (expires_at);
CREATE INDEX sessions_by_id ON sessions USING btree (((id)::text));
CREATE INDEX sessions_by_user ON sessions USING btree (tenant_id, user_id, created_at, id);
CREATE TRIGGER session_ended AFTER DELETE ON sessions REFERENCING OLD TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION session_ended_put();
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY sessions_platform ON sessions FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY sessions_tenant ON sessions USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE sessions TO gatehouse_app;
GRANT SELECT ON TABLE sessions TO gatehouse_platform;

-- setup

CREATE TABLE setup (
    single boolean DEFAULT true NOT NULL,
    token_hash bytea,
    salt bytea,
    completed_at timestamp with time zone,
    CONSTRAINT setup_single_check CHECK (single)
);
ALTER TABLE setup
    ADD CONSTRAINT setup_pkey PRIMARY KEY (single);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE setup TO gatehouse_app;

-- shown_upstreams

CREATE TABLE shown_upstreams (
    provider_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    names text[] NOT NULL
);
ALTER TABLE shown_upstreams
    ADD CONSTRAINT shown_upstreams_pkey PRIMARY KEY (provider_id, tenant_id);
ALTER TABLE shown_upstreams
    ADD CONSTRAINT shown_upstreams_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shown_upstreams TO gatehouse_app;

-- sign_in_failures

CREATE TABLE sign_in_failures (
    key bytea NOT NULL,
    failures integer NOT NULL,
    locked_until timestamp with time zone,
    last_at timestamp with time zone NOT NULL
);
ALTER TABLE sign_in_failures
    ADD CONSTRAINT sign_in_failures_pkey PRIMARY KEY (key);
CREATE INDEX sign_in_failures_by_age ON sign_in_failures USING btree (last_at);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE sign_in_failures TO gatehouse_app;

-- signing_keys

CREATE TABLE signing_keys (
    generation integer NOT NULL,
    kid text NOT NULL,
    sealed bytea NOT NULL,
    public_jwk text NOT NULL,
    signs_from timestamp with time zone NOT NULL,
    signs_until timestamp with time zone NOT NULL,
    published_until timestamp with time zone NOT NULL
);
ALTER TABLE signing_keys
    ADD CONSTRAINT signing_keys_kid_key UNIQUE (kid);
ALTER TABLE signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (generation);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE signing_keys TO gatehouse_app;

-- tenants

CREATE TABLE tenants (
    id uuid NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    name_key text GENERATED ALWAYS AS (lower((name COLLATE "und-x-icu"))) STORED NOT NULL,
    locator text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    policy_version integer DEFAULT 1 NOT NULL,
    inactivity_since timestamp with time zone,
    external_id text COLLATE pg_catalog."C",
    public_attributes text DEFAULT '{}'::text NOT NULL,
    private_attributes text DEFAULT '{}'::text NOT NULL,
    appearance_name text,
    appearance_accent text,
    logo_hash text,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT tenants_appearance_accent_check CHECK ((appearance_accent ~ '^#[0-9a-f]{6}$'::text)),
    CONSTRAINT tenants_appearance_name_check CHECK (((char_length(appearance_name) >= 1) AND (char_length(appearance_name) <= 64))),
    CONSTRAINT tenants_external_id_check CHECK (((octet_length(external_id) >= 1) AND (octet_length(external_id) <= 255))),
    CONSTRAINT tenants_logo_hash_check CHECK ((logo_hash ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT tenants_private_attributes_check CHECK ((octet_length(private_attributes) <= 16384)),
    CONSTRAINT tenants_public_attributes_check CHECK ((octet_length(public_attributes) <= 16384)),
    CONSTRAINT tenants_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text, 'deleted'::text])))
);

ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
ALTER TABLE tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (id);
CREATE INDEX tenants_by_age ON tenants USING btree (created_at, id);
CREATE INDEX tenants_by_deletion ON tenants USING btree (deleted_at) WHERE (status = 'deleted'::text);
CREATE INDEX tenants_by_name ON tenants USING btree (name_key, id);
CREATE UNIQUE INDEX tenants_external_id ON tenants USING btree (external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX tenants_with_inactivity ON tenants USING btree (id) WHERE (inactivity_since IS NOT NULL);
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenants_owner ON tenants FOR SELECT TO gatehouse_owner USING (true);
CREATE POLICY tenants_platform ON tenants FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY tenants_tenant ON tenants USING ((id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tenants TO gatehouse_app;
GRANT SELECT ON TABLE tenants TO gatehouse_platform;

-- tombstones

CREATE TABLE tombstones (
    tenant_id uuid NOT NULL,
    key bytea NOT NULL,
    person uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

ALTER TABLE tombstones FORCE ROW LEVEL SECURITY;
ALTER TABLE tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (tenant_id, key);
CREATE INDEX tombstones_by_end ON tombstones USING btree (expires_at);
CREATE INDEX tombstones_by_person ON tombstones USING btree (tenant_id, person);
CREATE INDEX tombstones_ended ON tombstones USING btree (tenant_id, expires_at);
ALTER TABLE tombstones ENABLE ROW LEVEL SECURITY;
CREATE POLICY tombstones_platform ON tombstones FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY tombstones_tenant ON tombstones USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tombstones TO gatehouse_app;
GRANT SELECT ON TABLE tombstones TO gatehouse_platform;

-- user_attributes

CREATE TABLE user_attributes (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT user_attributes_value_check CHECK ((octet_length(value) <= 255))
);

ALTER TABLE user_attributes FORCE ROW LEVEL SECURITY;
ALTER TABLE user_attributes
    ADD CONSTRAINT user_attributes_pkey PRIMARY KEY (tenant_id, user_id, name);
ALTER TABLE user_attributes
    ADD CONSTRAINT user_attributes_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES users(tenant_id, id) ON DELETE CASCADE;
CREATE INDEX user_attributes_by_value ON user_attributes USING btree (tenant_id, name, value, created_at, user_id) WHERE (created_at IS NOT NULL);
ALTER TABLE user_attributes ENABLE ROW LEVEL SECURITY;
CREATE POLICY user_attributes_platform ON user_attributes FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY user_attributes_tenant ON user_attributes USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE user_attributes TO gatehouse_app;
GRANT SELECT ON TABLE user_attributes TO gatehouse_platform;

-- user_merges

CREATE TABLE user_merges (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    winner_id uuid NOT NULL,
    loser_id uuid NOT NULL,
    status text DEFAULT 'done'::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    created_by_type text NOT NULL,
    created_by_id text NOT NULL,
    created_by_name text NOT NULL,
    winner_status text NOT NULL,
    winner_signed_in_at timestamp with time zone,
    winner_kept boolean DEFAULT false NOT NULL,
    winner_email_key text,
    winner_had_password boolean,
    loser_status text NOT NULL,
    identities uuid[] NOT NULL,
    keys jsonb NOT NULL,
    accepted_invites uuid[] NOT NULL,
    revoked_invites uuid[] NOT NULL,
    addresses text[] NOT NULL,
    carried uuid[] NOT NULL,
    left_identities jsonb NOT NULL,
    left_aliases jsonb NOT NULL,
    ended jsonb,
    CONSTRAINT user_merges_status_check CHECK ((status = ANY (ARRAY['done'::text, 'undone'::text])))
);

ALTER TABLE user_merges FORCE ROW LEVEL SECURITY;
ALTER TABLE user_merges
    ADD CONSTRAINT user_merges_pkey PRIMARY KEY (tenant_id, id);
CREATE INDEX user_merges_by_age ON user_merges USING btree (tenant_id, created_at, id);
CREATE INDEX user_merges_by_loser ON user_merges USING btree (tenant_id, loser_id);
CREATE INDEX user_merges_by_maker ON user_merges USING btree (tenant_id, created_by_id);
CREATE INDEX user_merges_by_winner ON user_merges USING btree (tenant_id, winner_id);
ALTER TABLE user_merges ENABLE ROW LEVEL SECURITY;
CREATE POLICY user_merges_platform ON user_merges FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY user_merges_tenant ON user_merges USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE user_merges TO gatehouse_app;
GRANT SELECT ON TABLE user_merges TO gatehouse_platform;

-- user_search

CREATE TABLE user_search (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    content text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE user_search
    ADD CONSTRAINT user_search_pkey PRIMARY KEY (tenant_id, user_id) INCLUDE (content);
CREATE INDEX user_search_content ON user_search USING gin (tenant_id, content gin_trgm_ops);

-- user_uses

CREATE TABLE user_uses (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    used_at timestamp with time zone NOT NULL
);

ALTER TABLE user_uses FORCE ROW LEVEL SECURITY;
ALTER TABLE user_uses
    ADD CONSTRAINT user_uses_pkey PRIMARY KEY (tenant_id, user_id);
ALTER TABLE user_uses ENABLE ROW LEVEL SECURITY;
CREATE POLICY user_uses_platform ON user_uses FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY user_uses_tenant ON user_uses USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE user_uses TO gatehouse_app;
GRANT SELECT ON TABLE user_uses TO gatehouse_platform;

-- users

CREATE TABLE users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    plain_key text GENERATED ALWAYS AS (NULLIF((NULLIF(replace(split_part("substring"(email_key, '^(.*)@[^@]*$'::text), '+'::text, 1), '.'::text, ''::text), ''::text) || "substring"(email_key, '@[^@]*$'::text)), email_key)) STORED,
    email_verified_at timestamp with time zone,
    name text,
    role text NOT NULL,
    status text NOT NULL,
    status_before text,
    source text NOT NULL,
    join_link_id uuid,
    declined_at timestamp with time zone,
    external_id text COLLATE pg_catalog."C",
    public_attributes text DEFAULT '{}'::text NOT NULL,
    private_attributes text DEFAULT '{}'::text NOT NULL,
    password_hash text,
    pin_hash text,
    password_changed_at timestamp with time zone,
    must_change_password boolean DEFAULT false NOT NULL,
    password_awaited boolean DEFAULT false NOT NULL,
    signed_out_at timestamp with time zone,
    last_sign_in_at timestamp with time zone,
    keep boolean DEFAULT false NOT NULL,
    resumed_at timestamp with time zone,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT users_external_id_check CHECK (((octet_length(external_id) >= 1) AND (octet_length(external_id) <= 255))),
    CONSTRAINT users_private_attributes_check CHECK ((octet_length(private_attributes) <= 16384)),
    CONSTRAINT users_public_attributes_check CHECK ((octet_length(public_attributes) <= 16384)),
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['member'::text, 'manager'::text, 'admin'::text]))),
    CONSTRAINT users_source_check CHECK ((source = ANY (ARRAY['invite'::text, 'operator'::text, 'import'::text, 'sign_up'::text, 'approval'::text, 'join_link'::text]))),
    CONSTRAINT users_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'suspended'::text, 'deleted'::text, 'merged'::text])))
);

ALTER TABLE users FORCE ROW LEVEL SECURITY;
ALTER TABLE users
    ADD CONSTRAINT users_pkey PRIMARY KEY (tenant_id, id);
CREATE INDEX users_by_age ON users USING btree (tenant_id, created_at, id);
CREATE INDEX users_by_deletion ON users USING btree (deleted_at) WHERE (status = 'deleted'::text);
CREATE INDEX users_by_email ON users USING btree (tenant_id, email_key, id) INCLUDE (status, name);
CREATE INDEX users_by_external_id ON users USING btree (tenant_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX users_by_id ON users USING btree (((id)::text));
CREATE INDEX users_by_last_sign_in ON users USING btree (tenant_id, last_sign_in_at) INCLUDE (status);
CREATE INDEX users_by_plain_key ON users USING btree (tenant_id, plain_key, id) WHERE ((plain_key IS NOT NULL) AND (status <> 'deleted'::text));
CREATE INDEX users_by_role ON users USING btree (tenant_id, role, created_at, id) INCLUDE (status);
CREATE INDEX users_by_role_email ON users USING btree (tenant_id, role, email_key, id) INCLUDE (status);
CREATE INDEX users_by_sign_in ON users USING btree (tenant_id, (
CASE
    WHEN (last_sign_in_at IS NULL) THEN '-infinity'::timestamp with time zone
    ELSE last_sign_in_at
END), id) INCLUDE (status);
CREATE INDEX users_by_status ON users USING btree (tenant_id, status, created_at, id);
CREATE INDEX users_by_status_email ON users USING btree (tenant_id, status, email_key, id);
CREATE INDEX users_deleted_email ON users USING btree (tenant_id, email_key) WHERE (status = 'deleted'::text);
CREATE UNIQUE INDEX users_live_email ON users USING btree (tenant_id, email_key) WHERE ((status <> 'deleted'::text) AND (status <> 'merged'::text));
CREATE UNIQUE INDEX users_live_external_id ON users USING btree (tenant_id, external_id) WHERE ((external_id IS NOT NULL) AND (status <> 'deleted'::text) AND (status <> 'merged'::text));
CREATE INDEX users_never_signed_in ON users USING btree (tenant_id, created_at, id) INCLUDE (status) WHERE (last_sign_in_at IS NULL);
CREATE INDEX users_waiting ON users USING btree (tenant_id, created_at, id) WHERE ((status = 'pending'::text) AND (source = 'approval'::text));
CREATE INDEX users_waiting_by_email ON users USING btree (tenant_id, email_key, id) WHERE ((status = 'pending'::text) AND (source = 'approval'::text));
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
CREATE POLICY users_platform ON users FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY users_tenant ON users USING (((tenant_id = current_tenant()) AND ((status IS DISTINCT FROM 'merged'::text) OR (current_setting('app.merged'::text, true) = 'on'::text))));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE users TO gatehouse_app;
GRANT SELECT ON TABLE users TO gatehouse_platform;

-- verification_counts

CREATE TABLE verification_counts (
    tenant_id uuid NOT NULL,
    hour timestamp with time zone NOT NULL,
    good bigint NOT NULL,
    uses bigint DEFAULT 0 NOT NULL
);

ALTER TABLE verification_counts FORCE ROW LEVEL SECURITY;
ALTER TABLE verification_counts
    ADD CONSTRAINT verification_counts_pkey PRIMARY KEY (tenant_id, hour);
CREATE INDEX verification_counts_by_hour ON verification_counts USING btree (hour);
ALTER TABLE verification_counts ENABLE ROW LEVEL SECURITY;
CREATE POLICY verification_counts_platform ON verification_counts FOR SELECT TO gatehouse_platform USING (true);
CREATE POLICY verification_counts_tenant ON verification_counts USING ((tenant_id = current_tenant()));
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE verification_counts TO gatehouse_app;
GRANT SELECT ON TABLE verification_counts TO gatehouse_platform;

-- webauthn_challenges

CREATE TABLE webauthn_challenges (
    challenge bytea NOT NULL,
    purpose text NOT NULL,
    binding bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT webauthn_challenges_binding_check CHECK ((octet_length(binding) = 32)),
    CONSTRAINT webauthn_challenges_challenge_check CHECK ((octet_length(challenge) = 32)),
    CONSTRAINT webauthn_challenges_purpose_check CHECK ((purpose = ANY (ARRAY['registration'::text, 'sign_in'::text, 'step_up'::text])))
);
ALTER TABLE webauthn_challenges
    ADD CONSTRAINT webauthn_challenges_pkey PRIMARY KEY (challenge);
CREATE INDEX webauthn_challenges_by_binding ON webauthn_challenges USING btree (binding, created_at);
CREATE INDEX webauthn_challenges_by_end ON webauthn_challenges USING btree (expires_at);
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE webauthn_challenges TO gatehouse_app;

-- Functions

CREATE FUNCTION public.addresses_in(said text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RETURN ARRAY(SELECT one[1] FROM unnest(ARRAY['[^[:space:]<>()\[\]:;,"@]+', '[[:alnum:]._%+-]+']) AS local,
        LATERAL regexp_matches(lower(said), local || '@[[:alnum:]-]+(?:\.[[:alnum:]-]+)*', 'g') AS one);
END $$;
REVOKE ALL ON FUNCTION public.addresses_in(said text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.addresses_in(said text) TO gatehouse_app;

CREATE FUNCTION public.analyze_grown_tables() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE grown name; count integer := 0;
BEGIN
    FOR grown IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
            AND c.relname IN ('users', 'invites', 'identities', 'user_search', 'directory_people',
                'audit_events', 'mail')
            AND pg_relation_size(c.oid) / current_setting('block_size')::bigint > 2 * c.relpages + 8
        ORDER BY c.relname
    LOOP
        EXECUTE format('ANALYZE %I', grown);
        count := count + 1;
    END LOOP;
    RETURN count;
END $$;
REVOKE ALL ON FUNCTION public.analyze_grown_tables() FROM PUBLIC;
GRANT ALL ON FUNCTION public.analyze_grown_tables() TO gatehouse_app;

CREATE FUNCTION public.audit_redact_tenant(tenant uuid, kept text[], most bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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
REVOKE ALL ON FUNCTION public.audit_redact_tenant(tenant uuid, kept text[], most bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.audit_redact_tenant(tenant uuid, kept text[], most bigint) TO gatehouse_app;

CREATE FUNCTION public.audit_without_words(changes jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(jsonb_object_agg(key, CASE
        WHEN key = ANY (ARRAY['role', 'status', 'expires_at', 'delivery', 'removed']) THEN value
        ELSE '[null, null]' END), '{}')
    FROM jsonb_each(changes)
$$;
REVOKE ALL ON FUNCTION public.audit_without_words(changes jsonb) FROM PUBLIC;

CREATE FUNCTION public.current_tenant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('app.tenant', true), '')::uuid $$;
REVOKE ALL ON FUNCTION public.current_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION public.current_tenant() TO gatehouse_app;
GRANT ALL ON FUNCTION public.current_tenant() TO gatehouse_platform;

CREATE FUNCTION public.decisions_redact(tenant uuid, person uuid, email_keys text[]) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    RETURN QUERY
    UPDATE decisions AS d SET email = NULL, email_key = NULL, subject = ''
    WHERE d.tenant_id = tenant AND d.id IN (
        SELECT id FROM decisions WHERE tenant_id = tenant AND user_id = person
        UNION SELECT id FROM decisions WHERE tenant_id = tenant AND email_key = ANY (email_keys))
    RETURNING d.id;
END $$;
REVOKE ALL ON FUNCTION public.decisions_redact(tenant uuid, person uuid, email_keys text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.decisions_redact(tenant uuid, person uuid, email_keys text[]) TO gatehouse_app;

CREATE FUNCTION public.decisions_remove(tenant uuid, past timestamp with time zone, most bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE removed bigint;
BEGIN
    IF past > now() - interval '1 day' THEN
        RAISE EXCEPTION 'decisions are kept for a day at least';
    END IF;
    DELETE FROM decisions AS d USING (
        SELECT id FROM decisions WHERE tenant_id = tenant AND created_at <= past
        ORDER BY created_at LIMIT most) AS old
    WHERE d.tenant_id = tenant AND d.id = old.id;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;
REVOKE ALL ON FUNCTION public.decisions_remove(tenant uuid, past timestamp with time zone, most bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.decisions_remove(tenant uuid, past timestamp with time zone, most bigint) TO gatehouse_app;

CREATE FUNCTION public.directory_add_people(wanted bytea[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_people SELECT substring(key FOR 36), mine FROM unnest(wanted) AS key
        ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION public.directory_add_people(wanted bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_add_people(wanted bytea[]) TO gatehouse_app;

CREATE FUNCTION public.directory_add_person(wanted bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_people VALUES (substring(wanted FOR 36), mine) ON CONFLICT DO NOTHING;
END $$;
REVOKE ALL ON FUNCTION public.directory_add_person(wanted bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_add_person(wanted bytea) TO gatehouse_app;

CREATE FUNCTION public.directory_bound_hosts() RETURNS TABLE(client text, host text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant(); found directory_hosts;
BEGIN
    FOR found IN SELECT * FROM directory_hosts h WHERE h.tenant_id = mine LOOP
        IF directory_host_stands(found.tenant_id, found.host, found.by_platform) THEN
            client := found.client;
            host := found.host;
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.directory_bound_hosts() FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_bound_hosts() TO gatehouse_app;

CREATE FUNCTION public.directory_claim(kind text, wanted text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE holder uuid; mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    CASE kind
    WHEN 'slug' THEN
        INSERT INTO directory_slugs VALUES (wanted, mine) ON CONFLICT DO NOTHING;
        SELECT tenant_id INTO holder FROM directory_slugs WHERE slug = wanted;
    WHEN 'locator' THEN
        INSERT INTO directory_locators VALUES (wanted, mine) ON CONFLICT DO NOTHING;
        SELECT tenant_id INTO holder FROM directory_locators WHERE locator = wanted;
    WHEN 'domain' THEN
        INSERT INTO directory_domains VALUES (wanted, mine) ON CONFLICT DO NOTHING;
        SELECT tenant_id INTO holder FROM directory_domains WHERE domain = wanted;
    END CASE;
    RETURN holder = mine;
END $$;
REVOKE ALL ON FUNCTION public.directory_claim(kind text, wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_claim(kind text, wanted text) TO gatehouse_app;

CREATE FUNCTION public.directory_claim_external_id(wanted text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION public.directory_claim_external_id(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_claim_external_id(wanted text) TO gatehouse_app;

CREATE FUNCTION public.directory_claim_host(wanted text, client_of text, on_platforms_word boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant(); found directory_hosts;
BEGIN
    IF mine IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    SELECT * INTO found FROM directory_hosts h WHERE h.host = wanted;
    IF found.host IS NOT NULL
        AND NOT directory_host_stands(found.tenant_id, found.host, found.by_platform) THEN
        DELETE FROM directory_hosts h WHERE h.host = wanted AND h.tenant_id = found.tenant_id;
    END IF;
    INSERT INTO directory_hosts (host, tenant_id, client, by_platform)
        VALUES (wanted, mine, client_of, on_platforms_word) ON CONFLICT DO NOTHING;
    SELECT * INTO found FROM directory_hosts h WHERE h.host = wanted;
    RETURN coalesce(found.tenant_id = mine AND found.client = client_of, false);
END $$;
REVOKE ALL ON FUNCTION public.directory_claim_host(wanted text, client_of text, on_platforms_word boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_claim_host(wanted text, client_of text, on_platforms_word boolean) TO gatehouse_app;

CREATE FUNCTION public.directory_claim_ids(wanted uuid[]) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF current_tenant() IS NULL THEN RAISE EXCEPTION 'no tenant is set'; END IF;
    RETURN QUERY INSERT INTO directory_claimed_ids AS t
        SELECT DISTINCT w.id FROM unnest(wanted) AS w (id) ORDER BY w.id
        ON CONFLICT DO NOTHING RETURNING t.id;
END $$;
REVOKE ALL ON FUNCTION public.directory_claim_ids(wanted uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_claim_ids(wanted uuid[]) TO gatehouse_app;

CREATE FUNCTION public.directory_client_by_host(wanted text[]) RETURNS TABLE(tenant_id uuid, client text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE found directory_hosts;
BEGIN
    FOR found IN SELECT * FROM directory_hosts h WHERE h.host = ANY (wanted)
        ORDER BY array_position(wanted, h.host)
    LOOP
        IF directory_host_stands(found.tenant_id, found.host, found.by_platform) THEN
            tenant_id := found.tenant_id;
            client := found.client;
            RETURN NEXT;
            RETURN;
        END IF;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.directory_client_by_host(wanted text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_client_by_host(wanted text[]) TO gatehouse_app;

CREATE FUNCTION public.directory_drop_logo() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_logos WHERE tenant_id = mine;
END $$;
REVOKE ALL ON FUNCTION public.directory_drop_logo() FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_drop_logo() TO gatehouse_app;

CREATE FUNCTION public.directory_host_stands(tenant uuid, host text, by_platform boolean) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RETURN by_platform OR origin_wildcard_stands(tenant, split_part(host, ':', 1));
END $$;
REVOKE ALL ON FUNCTION public.directory_host_stands(tenant uuid, host text, by_platform boolean) FROM PUBLIC;

CREATE FUNCTION public.directory_keep_people(ids bytea[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant(); removed bigint;
BEGIN
    DELETE FROM directory_people WHERE tenant_id = mine AND NOT substring(key FOR 4) = ANY (ids);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;
REVOKE ALL ON FUNCTION public.directory_keep_people(ids bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_keep_people(ids bytea[]) TO gatehouse_app;

CREATE FUNCTION public.directory_logo(wanted text) RETURNS TABLE(media_type text, content bytea)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$ SELECT l.media_type, l.content FROM directory_logos l WHERE l.hash = wanted LIMIT 1 $$;
REVOKE ALL ON FUNCTION public.directory_logo(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_logo(wanted text) TO gatehouse_app;

CREATE FUNCTION public.directory_people_elsewhere(ids bytea[]) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM directory_people WHERE NOT substring(key FOR 4) = ANY (ids));
END $$;
REVOKE ALL ON FUNCTION public.directory_people_elsewhere(ids bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_people_elsewhere(ids bytea[]) TO gatehouse_app;

CREATE FUNCTION public.directory_people_under(id bytea, most bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE past bytea := id || decode(repeat('ff', 33), 'hex');
BEGIN
    RETURN (SELECT count(*) FROM (SELECT 1 FROM directory_people WHERE key >= id AND key < past LIMIT most) AS found);
END $$;
REVOKE ALL ON FUNCTION public.directory_people_under(id bytea, most bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_people_under(id bytea, most bigint) TO gatehouse_app;

CREATE FUNCTION public.directory_put_logo(wanted text, type_of text, bytes bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    IF mine IS NULL THEN RETURN; END IF;
    INSERT INTO directory_logos VALUES (wanted, mine, type_of, bytes)
        ON CONFLICT (tenant_id) DO UPDATE
        SET hash = excluded.hash, media_type = excluded.media_type, content = excluded.content;
END $$;
REVOKE ALL ON FUNCTION public.directory_put_logo(wanted text, type_of text, bytes bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_put_logo(wanted text, type_of text, bytes bytea) TO gatehouse_app;

CREATE FUNCTION public.directory_release_domain(wanted text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_domains WHERE domain = wanted AND tenant_id = mine;
END $$;
REVOKE ALL ON FUNCTION public.directory_release_domain(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_release_domain(wanted text) TO gatehouse_app;

CREATE FUNCTION public.directory_release_host(wanted text, client_of text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant();
BEGIN
    DELETE FROM directory_hosts h WHERE h.host = wanted AND h.tenant_id = mine AND h.client = client_of;
END $$;
REVOKE ALL ON FUNCTION public.directory_release_host(wanted text, client_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_release_host(wanted text, client_of text) TO gatehouse_app;

CREATE FUNCTION public.directory_remove_person(wanted bytea) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE mine uuid := current_tenant(); keys bytea[] := person_keys(wanted);
BEGIN
    -- The keys lead to few rows, the tenant to all of its people: this is never looked up in an index.
    DELETE FROM directory_people WHERE key = ANY (keys) AND tenant_id IS NOT DISTINCT FROM mine;
END $$;
REVOKE ALL ON FUNCTION public.directory_remove_person(wanted bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_remove_person(wanted bytea) TO gatehouse_app;

CREATE FUNCTION public.directory_tenant_by_domain(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_domains WHERE domain = wanted); END $$;
REVOKE ALL ON FUNCTION public.directory_tenant_by_domain(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_tenant_by_domain(wanted text) TO gatehouse_app;

CREATE FUNCTION public.directory_tenant_by_locator(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_locators WHERE locator = wanted); END $$;
REVOKE ALL ON FUNCTION public.directory_tenant_by_locator(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_tenant_by_locator(wanted text) TO gatehouse_app;
GRANT ALL ON FUNCTION public.directory_tenant_by_locator(wanted text) TO gatehouse_platform;

CREATE FUNCTION public.directory_tenant_by_slug(wanted text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN RETURN (SELECT tenant_id FROM directory_slugs WHERE slug = wanted); END $$;
REVOKE ALL ON FUNCTION public.directory_tenant_by_slug(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_tenant_by_slug(wanted text) TO gatehouse_app;

CREATE FUNCTION public.directory_tenants_of(wanted bytea) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE keys bytea[] := person_keys(wanted);
BEGIN
    RETURN QUERY SELECT DISTINCT tenant_id FROM directory_people WHERE key = ANY (keys)
        ORDER BY tenant_id;
END $$;
REVOKE ALL ON FUNCTION public.directory_tenants_of(wanted bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.directory_tenants_of(wanted bytea) TO gatehouse_app;

CREATE FUNCTION public.domain_claimants(wanted text[]) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RETURN QUERY SELECT d.tenant_id FROM domains d WHERE d.domain = ANY (wanted) AND d.status = 'pending'
        ORDER BY d.created_at, d.tenant_id LIMIT 10;
END $$;
REVOKE ALL ON FUNCTION public.domain_claimants(wanted text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.domain_claimants(wanted text[]) TO gatehouse_app;

CREATE FUNCTION public.former_identity_put() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO former_identities (tenant_id, id, user_id)
        SELECT u.tenant_id, OLD.id, u.id FROM users u
        WHERE u.tenant_id = OLD.tenant_id AND u.id = OLD.user_id
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.former_identity_put() FROM PUBLIC;

CREATE FUNCTION public.ids_in(answer bytea) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT id[1] FROM regexp_matches(encode(answer, 'escape'),
        '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'g') AS id);
END $$;
REVOKE ALL ON FUNCTION public.ids_in(answer bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.ids_in(answer bytea) TO gatehouse_app;

CREATE FUNCTION public.ids_known(wanted text[]) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    RETURN QUERY SELECT u.id::text FROM users u WHERE u.id::text = ANY (wanted)
        UNION SELECT e.target_id FROM audit_events e WHERE e.target_id = ANY (wanted) AND e.occurred_at > '-infinity';
END $$;
REVOKE ALL ON FUNCTION public.ids_known(wanted text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.ids_known(wanted text[]) TO gatehouse_platform;

CREATE FUNCTION public.lock_people(identities bytea, addresses bytea) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE first bytea[] := person_keys(identities); rest bytea[] := person_keys(addresses);
BEGIN
    INSERT INTO provisioning_locks (key)
    SELECT kind || key FROM (
        SELECT '\x69'::bytea AS kind, unnest(first) AS key
        UNION SELECT '\x65'::bytea, unnest(rest)) AS person
    ORDER BY kind DESC, key
    ON CONFLICT (key) DO UPDATE SET key = excluded.key;
END $$;
REVOKE ALL ON FUNCTION public.lock_people(identities bytea, addresses bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.lock_people(identities bytea, addresses bytea) TO gatehouse_app;

CREATE FUNCTION public.origin_rows(wanted uuid, slug_of text, locator_of text, listed text[], everywhere boolean) RETURNS TABLE(tenant_id uuid, status text, dev_origins boolean, private_network boolean, origin text, credentials boolean, expires_at timestamp with time zone, stands boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE holder uuid := wanted;
BEGIN
    IF slug_of IS NOT NULL THEN
        SELECT s.tenant_id INTO holder FROM directory_slugs s WHERE s.slug = slug_of;
    ELSIF locator_of IS NOT NULL THEN
        SELECT l.tenant_id INTO holder FROM directory_locators l WHERE l.locator = locator_of;
    END IF;
    RETURN QUERY
        SELECT o.tenant_id, 'active', false, false, o.origin, o.credentials, o.expires_at,
            o.kind = 'exact'
        FROM cors_origins o
        WHERE o.tenant_id = '00000000-0000-0000-0000-000000000000' AND o.origin = ANY (listed);
    RETURN QUERY
        SELECT t.id, t.status, coalesce((p.document ->> 'dev_origins')::boolean, false),
            coalesce((p.document ->> 'private_network')::boolean, false),
            o.origin, o.credentials, o.expires_at,
            o.kind = 'exact' OR EXISTS (
                    SELECT 1 FROM domains d WHERE d.tenant_id = t.id AND d.status = 'verified'
                        AND (d.domain = substr(o.origin, 11)
                            OR right(substr(o.origin, 11), length(d.domain) + 1) = '.' || d.domain))
        FROM tenants t
        LEFT JOIN policies p ON p.tenant_id = t.id AND p.version = t.policy_version
        LEFT JOIN cors_origins o ON o.tenant_id = t.id AND o.origin = ANY (listed)
        WHERE t.id = holder;
    IF everywhere THEN
        RETURN QUERY
            SELECT t.id, t.status, false, false, o.origin, false, o.expires_at,
                o.kind = 'exact' OR EXISTS (
                    SELECT 1 FROM domains d WHERE d.tenant_id = t.id AND d.status = 'verified'
                        AND (d.domain = substr(o.origin, 11)
                            OR right(substr(o.origin, 11), length(d.domain) + 1) = '.' || d.domain))
            FROM cors_origins o JOIN tenants t ON t.id = o.tenant_id
            WHERE o.origin = ANY (listed) AND t.status = 'active' AND t.id IS DISTINCT FROM holder;
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.origin_rows(wanted uuid, slug_of text, locator_of text, listed text[], everywhere boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.origin_rows(wanted uuid, slug_of text, locator_of text, listed text[], everywhere boolean) TO gatehouse_app;

CREATE FUNCTION public.origin_wildcard_stands(tenant uuid, base text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM domains d WHERE d.tenant_id = tenant AND d.status = 'verified'
            AND (d.domain = base OR right(base, length(d.domain) + 1) = '.' || d.domain));
END $$;
REVOKE ALL ON FUNCTION public.origin_wildcard_stands(tenant uuid, base text) FROM PUBLIC;

CREATE FUNCTION public.person_keys(wanted bytea) RETURNS bytea[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE keys bytea[] := '{}';
BEGIN
    FOR start IN 1 .. coalesce(length(wanted), 0) BY 36 LOOP
        keys := keys || substring(wanted FROM start FOR 36);
    END LOOP;
    RETURN keys;
END $$;
REVOKE ALL ON FUNCTION public.person_keys(wanted bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION public.person_keys(wanted bytea) TO gatehouse_app;

CREATE FUNCTION public.person_redact(tenant uuid, person uuid, things uuid[], words text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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
REVOKE ALL ON FUNCTION public.person_redact(tenant uuid, person uuid, things uuid[], words text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.person_redact(tenant uuid, person uuid, things uuid[], words text[]) TO gatehouse_app;

CREATE FUNCTION public.policies_redact(tenant uuid, words text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    UPDATE policies AS p SET document = jsonb_set(p.document, '{blocked_emails}',
        (SELECT coalesce(jsonb_agg(email), '[]') FROM jsonb_array_elements_text(p.document->'blocked_emails') AS email
            WHERE email <> ALL (words)))
    WHERE p.tenant_id = tenant AND p.document->'blocked_emails' ?| words;
END $$;
REVOKE ALL ON FUNCTION public.policies_redact(tenant uuid, words text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.policies_redact(tenant uuid, words text[]) TO gatehouse_app;

CREATE FUNCTION public.policies_redact_author(tenant uuid, person uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    UPDATE policies AS p SET created_by = ''
    WHERE p.tenant_id = tenant AND p.created_by <> '' AND p.created_at IN (
        SELECT e.occurred_at FROM audit_events e
        WHERE e.tenant_id = tenant AND e.actor_type = 'user' AND e.actor_id = person::text
            AND e.action = 'policy.updated');
END $$;
REVOKE ALL ON FUNCTION public.policies_redact_author(tenant uuid, person uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.policies_redact_author(tenant uuid, person uuid) TO gatehouse_app;

CREATE FUNCTION public.protect(relation text, rights text DEFAULT 'SELECT, INSERT, UPDATE, DELETE'::text, own text DEFAULT 'tenant_id = current_tenant()'::text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relation);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', relation);
    EXECUTE format('CREATE POLICY %I ON %I USING (%s)', relation || '_tenant', relation, own);
    EXECUTE format('CREATE POLICY %I ON %I FOR SELECT TO gatehouse_platform USING (true)',
        relation || '_platform', relation);
    EXECUTE format('GRANT %s ON %I TO gatehouse_app', rights, relation);
    EXECUTE format('GRANT SELECT ON %I TO gatehouse_platform', relation);
END $$;
REVOKE ALL ON FUNCTION public.protect(relation text, rights text, own text) FROM PUBLIC;

CREATE FUNCTION public.provisioning_earlier(locks boolean, identities bytea, addresses bytea, wanted bytea, since timestamp with time zone, at timestamp with time zone) RETURNS TABLE(tenant uuid, decision uuid, answer text, reference text, recorded text, pending uuid[], declined uuid[], declined_at timestamp with time zone[])
    LANGUAGE plpgsql
    AS $$
DECLARE keys bytea[] := person_keys(identities);
BEGIN
    IF locks THEN PERFORM lock_people(identities, addresses); END IF;
    SELECT r.tenant_id, r.decision_id, r.answer, r.reference, r.recorded::text
        INTO tenant, decision, answer, reference, recorded
        FROM provisioning_retries r WHERE r.digest = wanted AND r.created_at > since;
    SELECT coalesce(array_agg(c.tenant_id) FILTER (WHERE c.declined_at IS NULL), '{}'),
            coalesce(array_agg(c.tenant_id) FILTER (WHERE c.declined_at IS NOT NULL), '{}'),
            coalesce(array_agg(c.declined_at) FILTER (WHERE c.declined_at IS NOT NULL), '{}')
        INTO pending, declined, declined_at
        FROM pending_choices c WHERE c.identity = ANY (keys) AND c.expires_at > at;
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION public.provisioning_earlier(locks boolean, identities bytea, addresses bytea, wanted bytea, since timestamp with time zone, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.provisioning_earlier(locks boolean, identities bytea, addresses bytea, wanted bytea, since timestamp with time zone, at timestamp with time zone) TO gatehouse_app;

CREATE FUNCTION public.rows_about(place text) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(place) $$;
REVOKE ALL ON FUNCTION public.rows_about(place text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.rows_about(place text) TO gatehouse_app;
GRANT ALL ON FUNCTION public.rows_about(place text) TO gatehouse_platform;

CREATE FUNCTION public.search_fetch(listing text, tenant uuid, patterns text[], by text, after_at timestamp with time zone, after_text text, after_id uuid, most integer) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET enable_indexonlyscan TO 'off'
    AS $_$
DECLARE
    direction text := CASE WHEN left(by, 1) = '-' THEN 'DESC' ELSE 'ASC' END;
    behind text := CASE WHEN left(by, 1) = '-' THEN '<' ELSE '>' END;
    place text := CASE listing WHEN 'users' THEN 'user_search' WHEN 'api_keys' THEN 'api_keys'
        WHEN 'invites' THEN 'invites' END;
    key text := CASE listing WHEN 'users' THEN 'user_id' ELSE 'id' END;
    content text := CASE listing WHEN 'users' THEN 'content' WHEN 'api_keys' THEN 'name_key'
        ELSE 'email_key' END;
    ranked text := CASE listing WHEN 'users' THEN 'split_part(u.content, '' '', 1)'
        ELSE 'u.' || content END;
    matching text := format('u.%I LIKE ($2)[1]', content);
    following text := '';
    ordered text := '';
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    IF cardinality(patterns) > 1 AND left(patterns[1], 1) <> '%' THEN
        matching := format('(u.%1$I LIKE ($2)[1] OR u.%1$I LIKE ($2)[2])', content);
    ELSIF cardinality(patterns) > 1 THEN
        SELECT string_agg(format('u.%I LIKE ($2)[%s]', content, n), ' AND ') INTO matching
            FROM generate_series(1, cardinality(patterns)) AS n;
    END IF;
    IF ltrim(by, '-') = 'created_at' THEN
        ranked := 'u.created_at';
    END IF;
    IF by <> '' THEN
        ordered := format(' ORDER BY %1$s %2$s, u.%3$I %2$s', ranked, direction, key);
        IF after_id IS NOT NULL THEN
            following := format(' AND (%s, u.%I) %s (%s, $5)', ranked, key, behind,
                CASE WHEN ranked = 'u.created_at' THEN '$3' ELSE '$4' END);
        END IF;
    END IF;
    RETURN QUERY EXECUTE format('SELECT u.%I FROM %I u WHERE u.tenant_id = $1 AND ', key, place)
        || matching || following || ordered || ' LIMIT $6'
        USING tenant, patterns, after_at, after_text, after_id, most;
END $_$;
REVOKE ALL ON FUNCTION public.search_fetch(listing text, tenant uuid, patterns text[], by text, after_at timestamp with time zone, after_text text, after_id uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.search_fetch(listing text, tenant uuid, patterns text[], by text, after_at timestamp with time zone, after_text text, after_id uuid, most integer) TO gatehouse_app;

CREATE FUNCTION public.search_matches(listing text, tenant uuid, patterns text[], most integer) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE sampled integer; hits uuid[]; every boolean := left(patterns[1], 1) = '%';
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RETURN; END IF;
    IF listing = 'users' THEN
        SELECT count(*), array_agg(s.id) FILTER (WHERE CASE WHEN every THEN s.content LIKE ALL (patterns)
            ELSE s.content LIKE ANY (patterns) END)
        INTO sampled, hits
        FROM (SELECT u.user_id AS id, u.content FROM user_search u WHERE u.tenant_id = tenant
              ORDER BY u.user_id LIMIT 5000) AS s;
    ELSIF listing = 'api_keys' THEN
        SELECT count(*), array_agg(s.id) FILTER (WHERE CASE WHEN every THEN s.content LIKE ALL (patterns)
            ELSE s.content LIKE ANY (patterns) END)
        INTO sampled, hits
        FROM (SELECT k.id, k.name_key AS content FROM api_keys k WHERE k.tenant_id = tenant
              ORDER BY k.id LIMIT 5000) AS s;
    ELSE
        SELECT count(*), array_agg(s.id) FILTER (WHERE CASE WHEN every THEN s.content LIKE ALL (patterns)
            ELSE s.content LIKE ANY (patterns) END)
        INTO sampled, hits
        FROM (SELECT i.id, i.email_key AS content FROM invites i WHERE i.tenant_id = tenant
              ORDER BY i.id LIMIT 5000) AS s;
    END IF;
    IF sampled = 5000 THEN
        IF cardinality(hits) > 25 THEN
            RETURN NEXT NULL;
            RETURN QUERY SELECT unnest(hits[:500]);
            RETURN;
        ELSE
            SELECT array_agg(f) INTO hits FROM search_fetch(
                listing, tenant, patterns, '', NULL, NULL, NULL, most + 1) AS f;
        END IF;
    END IF;
    IF cardinality(hits) > most THEN
        RETURN NEXT NULL;
        hits := hits[:500];
    END IF;
    RETURN QUERY SELECT unnest(hits);
END $$;
REVOKE ALL ON FUNCTION public.search_matches(listing text, tenant uuid, patterns text[], most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.search_matches(listing text, tenant uuid, patterns text[], most integer) TO gatehouse_app;

CREATE FUNCTION public.search_people(patterns text[], most integer) RETURNS TABLE(tenant_id uuid, user_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET enable_indexonlyscan TO 'off'
    AS $$
DECLARE
    -- The part of the table, in per cent, that has about 5,000 rows.
    share double precision := least(100, 500000.0 / greatest(rows_about('public.user_search'), 1));
    pattern text;
    rarest text;
    hits bigint;
    least_hits bigint;
BEGIN
    SELECT count(*) INTO hits FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
        WHERE u.content LIKE ALL (patterns);
    IF hits > 25 THEN
        RETURN QUERY SELECT u.tenant_id, u.user_id FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
            WHERE u.content LIKE ALL (patterns) LIMIT most;
        RETURN;
    END IF;
    FOREACH pattern IN ARRAY patterns LOOP
        CONTINUE WHEN pattern !~ '[[:alnum:]]{3}';
        SELECT count(*) INTO hits FROM user_search u TABLESAMPLE SYSTEM (share) REPEATABLE (0)
            WHERE u.content LIKE pattern;
        IF rarest IS NULL OR hits < least_hits OR (hits = least_hits AND length(pattern) > length(rarest)) THEN
            rarest := pattern;
            least_hits := hits;
        END IF;
    END LOOP;
    -- The index takes one pattern; ALL it does not.
    RETURN QUERY SELECT u.tenant_id, u.user_id FROM user_search u
        WHERE u.content LIKE rarest AND u.content LIKE ALL (patterns) LIMIT most;
END $$;
REVOKE ALL ON FUNCTION public.search_people(patterns text[], most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.search_people(patterns text[], most integer) TO gatehouse_platform;

CREATE FUNCTION public.session_ended_put() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO user_uses AS s (tenant_id, user_id, used_at)
        SELECT o.tenant_id, o.user_id, max(o.last_seen_at) FROM ended o
        WHERE EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = o.tenant_id AND u.id = o.user_id)
            AND EXISTS (SELECT 1 FROM tenants t WHERE t.id = o.tenant_id AND t.status <> 'deleted')
        GROUP BY o.tenant_id, o.user_id ORDER BY o.tenant_id, o.user_id
        ON CONFLICT (tenant_id, user_id)
            DO UPDATE SET used_at = greatest(s.used_at, excluded.used_at);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.session_ended_put() FROM PUBLIC;

CREATE FUNCTION public.tenant_table_remove(tenant uuid, place text, most bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
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
END $_$;
REVOKE ALL ON FUNCTION public.tenant_table_remove(tenant uuid, place text, most bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenant_table_remove(tenant uuid, place text, most bigint) TO gatehouse_app;

CREATE FUNCTION public.tenant_tables() RETURNS TABLE(relation text, by_tenant boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT c.relname::text, true FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        AND a.attname = 'tenant_id' AND NOT a.attisdropped
        AND c.relname NOT IN ('audit_events', 'directory_slugs', 'directory_locators')
    ORDER BY c.relname $$;
REVOKE ALL ON FUNCTION public.tenant_tables() FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenant_tables() TO gatehouse_app;

CREATE FUNCTION public.user_search_drop(tenant uuid, wanted uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    DELETE FROM user_search WHERE tenant_id = tenant AND user_id = wanted;
END $$;
REVOKE ALL ON FUNCTION public.user_search_drop(tenant uuid, wanted uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.user_search_drop(tenant uuid, wanted uuid) TO gatehouse_app;

CREATE FUNCTION public.user_search_put(tenant uuid, wanted uuid, text_of text, since timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    INSERT INTO user_search VALUES (tenant, wanted, text_of, since)
        ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content;
END $$;
REVOKE ALL ON FUNCTION public.user_search_put(tenant uuid, wanted uuid, text_of text, since timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.user_search_put(tenant uuid, wanted uuid, text_of text, since timestamp with time zone) TO gatehouse_app;

CREATE FUNCTION public.user_search_put_all(tenant uuid, wanted uuid[], texts text[], since timestamp with time zone[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF tenant IS DISTINCT FROM current_tenant() THEN RAISE EXCEPTION 'another tenant'; END IF;
    INSERT INTO user_search
        SELECT tenant, u.id, u.content, u.at FROM unnest(wanted, texts, since) AS u (id, content, at)
        ON CONFLICT (tenant_id, user_id) DO UPDATE SET content = excluded.content;
END $$;
REVOKE ALL ON FUNCTION public.user_search_put_all(tenant uuid, wanted uuid[], texts text[], since timestamp with time zone[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.user_search_put_all(tenant uuid, wanted uuid[], texts text[], since timestamp with time zone[]) TO gatehouse_app;
