// The answers of the API. Written by answers.py from /openapi.json: do not edit.

declare namespace API {
    type APIKey = {
        id: string, tenant_id: string | null, name?: string, environment: "live" | "test", prefix: string, last4: string,
        previous: PreviousSecret | null, scopes?: string[], owner: APIKeyOwner, created_by: APIKeyMaker,
        status: "active" | "grace" | "revoked" | "expired", given_before: boolean, rate_limit?: APIKeyRateLimit | null,
        note?: string | null, expires_at?: string | null, allowed_ips?: string[], allowed_origins?: string[],
        last_used_at: string | null, last_used_ip: string | null, created_at: string, updated_at: string,
        revoked_at: string | null, revocation_reason: string | null,
    }
    type APIKeyList = { items: APIKey[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type APIKeyMaker = { type: string, id: string | null }
    type APIKeyOwner = { type: "user" | "tenant" | "platform", id: string | null }
    type APIKeyRateLimit = { per_minute: number }
    type APIKeyRevoked = {
        id: string, tenant_id: string | null, name?: string, environment: "live" | "test", prefix: string, last4: string,
        previous: PreviousSecret | null, scopes?: string[], owner: APIKeyOwner, created_by: APIKeyMaker,
        status: "active" | "grace" | "revoked" | "expired", given_before: boolean, rate_limit?: APIKeyRateLimit | null,
        note?: string | null, expires_at?: string | null, allowed_ips?: string[], allowed_origins?: string[],
        last_used_at: string | null, last_used_ip: string | null, created_at: string, updated_at: string,
        revoked_at: string | null, revocation_reason: string | null, ended?: EndedWithKey, review?: KeyReview[],
        review_total?: number,
    }
    type APIKeyUses = { items: { at: string, uses: number }[] }
    type APIKeyVerdict = {
        valid: boolean,
        code?: "unknown" | "revoked" | "expired" | "tenant_suspended" | "user_suspended" | "user_pending" | "user_deleted" | "ip_not_allowed" | "origin_not_allowed" | "scope_missing" | "rate_limited",
        retry_after?: number, key_id?: string, tenant_id?: string | null, name?: string, environment?: "live" | "test",
        owner?: { type: "user" | "tenant" | "platform", id: string | null }, scopes?: string[],
        expires_at?: string | null, external_id?: string, attributes?: Record<string, any>,
    }
    type APIKeyVerdicts = { results: APIKeyVerdict[] }
    type APIKeyWithSecret = {
        id: string, tenant_id: string | null, name?: string, environment: "live" | "test", prefix: string, last4: string,
        previous: PreviousSecret | null, scopes?: string[], owner: APIKeyOwner, created_by: APIKeyMaker,
        status: "active" | "grace" | "revoked" | "expired", given_before: boolean, rate_limit?: APIKeyRateLimit | null,
        note?: string | null, expires_at?: string | null, allowed_ips?: string[], allowed_origins?: string[],
        last_used_at: string | null, last_used_ip: string | null, created_at: string, updated_at: string,
        revoked_at: string | null, revocation_reason: string | null, key: string,
    }
    type APIKeysRevoked = { revoked: number }
    type Appearance = {
        name?: string | null, accent?: string | null, on_accent?: string | null, logo_url?: string | null,
    }
    type Attention = {
        kind: "sign_in_unset" | "join_requests" | "domains_unproved" | "mail_failed" | "keys_ending" | "origins_refused" | "keys_given_before" | "providers_unreachable",
        tenant: { id: string, slug: string, name: string } | null, count: { value: number, exact: boolean },
        since: string | null, more_tenants: boolean,
    }
    type AttributeRule = {
        for?: "public" | "private", type?: "string" | "integer" | "number" | "boolean" | "array" | "object",
        enum?: any[], maxLength?: number, pattern?: string, required?: boolean, indexed?: boolean, in_token?: boolean,
    }
    type AttributeSchema = {
        attributes: Record<string, AttributeRule>, version: number, indexing: string[], violations: AttributeViolations,
    }
    type AttributeViolations = { count: number, exact: boolean, users: string[] }
    type AuditEvent = {
        id: string, seq: number | null, occurred_at: string, actor: { type: string, id: string, name: string },
        action: string, target: { type: string, id: string, name: string }, tenant_id: string | null,
        tenant_name: string | null, request_id: string | null, decision_id: string | null, ip: string | null,
        changes: Record<string, any[]>,
    }
    type AuditEventList = {
        items: AuditEvent[], next_cursor: string | null, total: { value: number, exact: boolean }, histogram?: Histogram,
    }
    type Bounce = { result: "bounced" | "delayed" | "outdated" | "unknown" | "ignored" }
    type BulkResult = {
        items: ({ id: string, status: "done" | "unchanged" | "failed", code?: string, detail?: string, conflicting_id?: string })[],
        count: number,
    }
    type Client = {
        name: string, enabled?: boolean, hosts?: string[], unbound_hosts: string[], redirect_uris?: string[],
        settings?: any, secret_set: boolean, created_at: string | null, updated_at: string | null,
    }
    type ClientList = { items: Client[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type CognitoEvent = {
        triggerSource: string, userPoolId: string, userName: string, request: Record<string, any>,
        callerContext?: Record<string, any> | null, response?: any,
    }
    type ConsoleSession = {
        operator: Operator, step_up_until: string | null, methods: ("passkey" | "totp" | "password" | "provider")[],
        remedies: ("set_up" | "mail_link" | "sign_in_again" | "operator_reset")[],
    }
    type CorsAnswer = {
        allowed: boolean, rule: string, reason: string, preflight: { status: number, headers: Record<string, string> },
        response: { status: number | null, headers: Record<string, string> },
    }
    type CorsDecision = { allowed: boolean, rule: string, reason: string }
    type CorsOrigin = {
        id: string, tenant_id: string | null, origin?: string, credentials?: boolean, label?: string | null,
        expires_at?: string | null, created_at: string, created_by: { type: string, id: string },
    }
    type CorsOriginCreated = {
        id: string, tenant_id: string | null, origin?: string, credentials?: boolean, label?: string | null,
        expires_at?: string | null, created_at: string, created_by: { type: string, id: string }, normalised: string[],
    }
    type CorsOriginList = { items: CorsOrigin[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type Decision = {
        id: string, created_at: string, outcome: "created" | "linked" | "existing" | "reserved" | "deferred" | "refused",
        reason: "email_missing" | "email_invalid" | "email_unverified" | "user_suspended" | "user_deleted" | "tenant_suspended" | "tenant_deleted" | "approval_pending" | "invite_unknown" | "invite_expired" | "invite_revoked" | "invite_used" | "invite_email_mismatch" | "join_unknown" | "join_expired" | "join_revoked" | "join_used_up" | "identity_link_required" | "identity_conflict" | "not_invited" | "no_tenant" | "provider_unknown" | "tenant_choice_required" | "email_blocked" | "rate_limited" | "unavailable" | null,
        reference: string | null, email: string | null, provider: string | null, provider_name?: string,
        issuer: string | null, subject: string | null, tenant_id: string | null, tenant_name?: string,
        user_id: string | null, invite_id: string | null, policy_version: number | null, trace: TraceStep[],
        duration_ms: number | null, request_id: string | null, would_admit?: NearestYes[], replay_of: string | null,
    }
    type DecisionList = {
        items: Decision[], next_cursor: string | null, total: { value: number, exact: boolean }, histogram?: Histogram,
    }
    type Domain = {
        id: string, domain?: string, display: string, include_subdomains?: boolean,
        mode?: "join" | "ask" | "invite_only" | null, role?: "member" | "manager" | null, status: "pending" | "verified",
        verification: DomainVerification, created_at: string, verified_at: string | null,
    }
    type DomainList = { items: Domain[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type DomainVerification = {
        method: "dns" | "operator", record_name: string, record_value: string, lost_at: string | null,
    }
    type Duplicate = {
        users: User[],
        evidence: ({ kind: "verified_address" | "subject" | "spelling" | "external_id", value: string, certainty: "likely" | "maybe" })[],
    }
    type DuplicateList = { items: Duplicate[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type EmailChange = { email: string, expires_at: string, expires_at_reason?: "maker" }
    type EmailConfirmed = { email: string }
    type EndedAccess = {
        keys: string[], sessions: number, link_grants: number, password_links: number, email_change: boolean,
        password: boolean, pin: boolean,
    }
    type EndedWithKey = {
        keys: number, hook_credentials: number, invites: number, join_links: number, link_grants: number,
        password_links: number, email_changes: number, operators: number, operator_links: number, jobs: number,
    }
    type FailedSignIn = {
        id: string, tenant_id: string | null, client: string, operation: string, reason: string, tries: number | null,
        user_id: string | null, operator_id: string | null, request_id: string, reference: string | null,
        ip: string | null, user_agent: string | null, created_at: string,
    }
    type FailedSignInList = {
        items: FailedSignIn[], next_cursor: string | null, total: { value: number, exact: boolean },
    }
    type FirstSteps = { tenant: boolean, invite: boolean, provider: boolean, call: boolean, second_owner: boolean }
    type FoundPerson = {
        tenant: { id: string, slug: string, name: string, status: "active" | "suspended" | "deleted" }, id: string,
        email: string, name: string | null, status: "pending" | "active" | "suspended" | "deleted",
        role: "member" | "manager" | "admin", created_at: string, last_sign_in_at: string | null,
        found_by: ("address" | "former_address" | "identity" | "invite")[],
    }
    type FunctionError = { errorMessage: string, errorType: string }
    type Histogram = { since: string, until: string, bars: { at: string, count: number, exact: boolean }[] }
    type HookCredential = {
        id: string, provider_id: string, name: string | null, created_by: APIKeyMaker, expires_at: string | null,
        allowed_ips: string[], created_at: string,
    }
    type HookCredentialList = {
        items: HookCredential[], next_cursor: string | null, total: { value: number, exact: boolean },
    }
    type HookCredentialWithSecret = {
        id: string, provider_id: string, name: string | null, created_by: APIKeyMaker, expires_at: string | null,
        allowed_ips: string[], created_at: string, secret: string,
    }
    type IdentifiedAPIKey = {
        id: string, tenant_id: string | null, name: string, status: "active" | "grace" | "revoked" | "expired",
        leaked_at: string | null,
    }
    type Identity = {
        id: string, provider?: "oidc" | "google" | "github" | "cognito" | "password", issuer?: string, subject?: string,
        email?: string | null, email_vouched: boolean, alias_count: number, created_at: string,
        last_used_at: string | null, linked_by: LinkedBy | null,
    }
    type IdentityList = { items: Identity[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type InactivityCount = { value: number, exact: boolean, ids: string[] }
    type InactivityPreview = { warn: InactivityCount, suspend: InactivityCount, delete: InactivityCount }
    type Introspection = {
        active: boolean, scope?: string, client_id?: string, username?: string, token_type?: string, iss?: string,
        aud?: string, sub?: string, tenant_id?: string | null, iat?: number, exp?: number, external_id?: string,
        attributes?: Record<string, any>,
    }
    type Invite = {
        id: string, tenant_id: string, email?: string, role?: "member" | "manager" | "admin",
        status: "pending" | "accepted" | "revoked" | "expired", expires_at?: string, expires_at_reason?: "maker",
        message?: string | null, external_id?: string | null, public_attributes?: Record<string, any> | null,
        private_attributes?: Record<string, any> | null, delivery?: "mail" | "link", return_to?: string | null,
        delivery_status: "queued" | "sent" | "refused" | "bounced" | null, delivery_detail: string | null,
        invited_by: InvitedBy, accepted_at: string | null, accepted_user_id: string | null, sent_count: number,
        created_at: string, updated_at: string,
    }
    type InviteAccepted = { user: User, tenant: Tenant, return_to: string | null }
    type InviteList = { items: Invite[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type InviteListResult = {
        index: number, email: string, result: "created" | "existing" | "resent" | "refused",
        invite: InviteWithToken | null, code: string | null, detail: string | null, conflicting_id?: string | null,
    }
    type InvitePreview = {
        tenant: { name: string, slug: string, appearance?: Appearance }, email: string,
        role: "member" | "manager" | "admin", expires_at: string, status: "pending",
        providers: { id: string, name: string, kind: string }[],
    }
    type InviteResults = { results: InviteListResult[] }
    type InviteSignIn = { url: string }
    type InviteWithToken = {
        id: string, tenant_id: string, email?: string, role?: "member" | "manager" | "admin",
        status: "pending" | "accepted" | "revoked" | "expired", expires_at?: string, expires_at_reason?: "maker",
        message?: string | null, external_id?: string | null, public_attributes?: Record<string, any> | null,
        private_attributes?: Record<string, any> | null, delivery?: "mail" | "link", return_to?: string | null,
        delivery_status: "queued" | "sent" | "refused" | "bounced" | null, delivery_detail: string | null,
        invited_by: InvitedBy, accepted_at: string | null, accepted_user_id: string | null, sent_count: number,
        created_at: string, updated_at: string, token?: string, accept_url?: string,
    }
    type InvitedBy = { type: string, id: string, name: string }
    type Job = {
        id: string, tenant_id: string, kind: string,
        status: "queued" | "running" | "paused" | "cancelled" | "done" | "failed" | "undone", undoing: boolean,
        reason: string | null, dry_run: boolean, notes: string[], progress: JobProgress, undone: number, kept: number,
        created_by: JobMaker, created_at: string, started_at: string | null, finished_at: string | null,
        undo_until: string | null,
    }
    type JobList = { items: Job[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type JobMaker = { type: string, id: string, name: string }
    type JobProgress = { done: number, failed: number, total: number | null, rate: number | null, eta: string | null }
    type JobResult = {
        row: number, status: "waiting" | "done" | "unchanged" | "failed" | "undone" | "kept", code: string | null,
        detail: string | null, target_type: string | null, target_id: string | null, conflicting_id: string | null,
    }
    type JobResultList = { items: JobResult[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type JoinLink = {
        id: string, tenant_id: string, role: "member", domains?: string[], max_uses?: number, uses: number,
        status: "active" | "revoked" | "expired" | "used_up", providers: number, expires_at?: string,
        expires_at_reason?: "maker", return_to?: string | null, created_by: JoinLinkMaker, created_at: string,
    }
    type JoinLinkList = { items: JoinLink[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type JoinLinkMaker = { type: string, id: string, name: string }
    type JoinLinkPreview = {
        tenant: { name: string, slug: string, appearance?: Appearance }, domains: string[], expires_at: string,
        status: "active", providers: { id: string, name: string, kind: string }[],
    }
    type JoinLinkSignIn = { url: string }
    type JoinLinkWithURL = {
        id: string, tenant_id: string, role: "member", domains?: string[], max_uses?: number, uses: number,
        status: "active" | "revoked" | "expired" | "used_up", providers: number, expires_at?: string,
        expires_at_reason?: "maker", return_to?: string | null, created_by: JoinLinkMaker, created_at: string,
        url: string,
    }
    type JoinedBy = { type: "join_link", id: string }
    type KeyReview = {
        tenant_id: string | null, type: string, id: string, name: string, action: string, at: string,
        act: { method: string, path: string },
    }
    type LinkGrant = { token: string, url: string, challenge: string, expires_at: string, expires_at_reason?: "maker" }
    type LinkedBy = { type: string, id: string }
    type ListedTenant = {
        id: string, slug?: string, name?: string, status: "active" | "suspended" | "deleted",
        external_id?: string | null, appearance?: Appearance, public_attributes?: Record<string, any> | null,
        private_attributes?: Record<string, any> | null, created_at: string, updated_at: string,
        users?: { value: number, exact: boolean },
    }
    type ListedTenantList = {
        items: ListedTenant[], next_cursor: string | null, total: { value: number, exact: boolean },
    }
    type Me = {
        principal: "operator" | "user" | "key", operator: Operator | null, id: string | null, name: string,
        tenant_id: string | null, external_id: string | null, scopes: string[], rights: string[],
        join_requests: number | null,
    }
    type Merge = {
        id: string, winner: string, loser: string, status: "done" | "undone",
        moved: { identities: number, keys: number, invites: number, addresses: number }, left_identities: number,
        refused_scopes: { key_id: string, scopes: string[] }[], ended: EndedAccess | null, undo_until: string,
        created_at: string, created_by: MergedBy,
    }
    type MergeList = { items: Merge[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type MergedBy = { type: string, id: string, name: string }
    type NearestYes = {
        change: "invite" | "approve" | "relink" | "verify_domain" | "include_subdomains" | "policy_sign_up" | "domain_mode" | "resume_user" | "restore_user" | "resume_tenant" | "trust_provider" | "resend_invite" | "raise_limit",
        detail: string, tenant_id: string | null,
    }
    type NotMeDone = { reset_mailed: boolean }
    type Operator = {
        id: string, email?: string, name?: string | null, role?: "owner" | "admin" | "developer" | "support" | "auditor",
        scope?: OperatorScope, status: "pending" | "active" | "suspended", confirmed: boolean, factors: OperatorFactors,
        second_factor_due: string | null, created_at: string, updated_at: string, last_sign_in_at: string | null,
    }
    type OperatorCreated = {
        id: string, email?: string, name?: string | null, role?: "owner" | "admin" | "developer" | "support" | "auditor",
        scope?: OperatorScope, status: "pending" | "active" | "suspended", confirmed: boolean, factors: OperatorFactors,
        second_factor_due: string | null, created_at: string, updated_at: string, last_sign_in_at: string | null,
        sign_in_url: string | null,
    }
    type OperatorFactors = {
        passkeys: number, passkeys_unusable: number, totp: boolean, recovery_codes_left: number, provider: boolean,
    }
    type OperatorLink = { sign_in_url: string | null, expires_at: string }
    type OperatorList = { items: Operator[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type OperatorScope = { tenant_id?: string | null, tenant_name?: string }
    type OperatorSignIn = {
        provider?: string | null, domains?: string[], required?: boolean, created_at: string | null,
        updated_at: string | null,
    }
    type Overview = {
        users: number, users_exact: boolean, tenants: number, since: string, until: string, time_zone: string,
        sign_ups: { at: string, admitted: number, refused: number }[], key_verifications: number, key_uses: number,
        attention: Attention[], first_steps: FirstSteps,
    }
    type OwnLink = { expires_at: string }
    type OwnSession = {
        id: string, device: string | null,
        method: "password" | "totp" | "recovery_code" | "passkey" | "provider" | "link" | "provider_mfa",
        created_at: string, last_seen_at: string, ip: string | null, user_agent: string | null, current: boolean,
    }
    type OwnSessionList = { items: OwnSession[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type OwnSignIn = {
        at: string, ip: string | null,
        method: "password" | "totp" | "recovery_code" | "passkey" | "provider" | "link" | "provider_mfa" | null,
    }
    type OwnSignInList = { items: OwnSignIn[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type Passkey = {
        id: string, name?: string, transports: string[], backed_up: boolean, relying_party: string, usable: boolean,
        created_at: string, last_used_at: string | null,
    }
    type PasskeyList = { items: Passkey[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type PasskeyOptions = { challenge: string, timeout: number }
    type PasswordLink = { url: string, expires_at: string, expires_at_reason?: "maker" }
    type PasswordResetDone = { return_to: string | null }
    type PeopleFound = { items: FoundPerson[], more: boolean }
    type PeopleResult = {
        action: "export" | "end_sessions" | "suspend" | "erase", results: PersonResult[], certificate?: string,
        exported_at?: string, people?: any[], platform?: any,
    }
    type PersonResult = {
        tenant: string, id: string, result: "done" | "failed", code?: string, detail?: string, conflicting_id?: string,
    }
    type Policy = {
        sign_up?: "closed" | "invite_only" | "domain" | "approval" | "open", default_role?: "member" | "manager",
        scope_catalogue?: string[], dev_origins?: boolean, private_network?: boolean, allowed_domains?: string[],
        external_invites?: boolean, invite_email_must_match?: boolean, auto_link?: "off" | "authoritative",
        password_min?: number, password_blocklist?: boolean, block_disposable?: boolean, blocked_domains?: string[],
        blocked_emails?: string[], invites_pending_max?: number, invites_per_inviter_hour?: number,
        invites_per_recipient_day?: number,
        inactivity?: { warn_days?: number | null, suspend_days?: number | null, delete_days?: number | null },
        version: number, inactivity_preview?: InactivityPreview,
    }
    type PolicyVersion = { version: number, policy: Policy, created_by: string, created_at: string }
    type PolicyVersionList = {
        items: PolicyVersion[], next_cursor: string | null, total: { value: number, exact: boolean },
    }
    type PreviousSecret = { last4: string, until: string, last_used_at: string | null, uses: number }
    type Provider = {
        id: string, tenant_id: string | null, tenant_name?: string,
        kind?: "oidc" | "google" | "github" | "cognito" | "password", name?: string, issuer?: string | null,
        client_id?: string | null, email_trust?: "none" | "verified_claim" | "authoritative" | null, domains?: string[],
        endpoints?: Record<string, string>, authorized_parties?: string[], upstreams?: ProviderUpstream[],
        strict_upstreams?: boolean, client_tenants?: Record<string, string>, admin_create?: "deny" | "allow",
        lambda_open?: "off" | "loopback", confirmed: boolean, secret_set: boolean, unreachable_since?: string,
        created_at: string, updated_at: string,
    }
    type ProviderFinding = {
        check: "discovery" | "endpoints" | "flow" | "keys" | "algorithms", ok: boolean, detail: string,
    }
    type ProviderList = { items: Provider[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type ProviderTest = { ok: boolean, findings: ProviderFinding[] }
    type ProviderUpstream = {
        name: string, kind?: "oidc" | "google" | "github" | null, issuer?: string | null,
        email_trust?: "none" | "verified_claim" | "authoritative" | null, domains?: string[],
    }
    type ProvisioningOutcome = {
        outcome: "created" | "linked" | "existing" | "reserved" | "deferred" | "refused",
        reason: "email_missing" | "email_invalid" | "email_unverified" | "user_suspended" | "user_deleted" | "tenant_suspended" | "tenant_deleted" | "approval_pending" | "invite_unknown" | "invite_expired" | "invite_revoked" | "invite_used" | "invite_email_mismatch" | "join_unknown" | "join_expired" | "join_revoked" | "join_used_up" | "identity_link_required" | "identity_conflict" | "not_invited" | "no_tenant" | "provider_unknown" | "tenant_choice_required" | "email_blocked" | "rate_limited" | "unavailable" | null,
        user: User | null, tenant: Tenant | null, identity_id: string | null, invite_id: string | null,
        decision_id: string | null, reference?: string,
        choices?: { tenant: { id: string, slug: string, name: string } }[], trace?: TraceStep[],
        policy_version?: number | null, would_admit?: NearestYes[],
    }
    type RecoveryCodes = { codes: string[] }
    type RefusedOrigin = { origin: string, count: number, first_seen: string, last_seen: string, paths: string[] }
    type RefusedOrigins = { items: RefusedOrigin[] }
    type ResolvedDecision = {
        id: string, created_at: string, outcome: "created" | "linked" | "existing" | "reserved" | "deferred" | "refused",
        reason: "email_missing" | "email_invalid" | "email_unverified" | "user_suspended" | "user_deleted" | "tenant_suspended" | "tenant_deleted" | "approval_pending" | "invite_unknown" | "invite_expired" | "invite_revoked" | "invite_used" | "invite_email_mismatch" | "join_unknown" | "join_expired" | "join_revoked" | "join_used_up" | "identity_link_required" | "identity_conflict" | "not_invited" | "no_tenant" | "provider_unknown" | "tenant_choice_required" | "email_blocked" | "rate_limited" | "unavailable" | null,
        reference: string | null, email: string | null, provider: string | null, provider_name?: string,
        issuer: string | null, subject: string | null, tenant_id: string | null, tenant_name?: string,
        user_id: string | null, invite_id: string | null, policy_version: number | null, trace: TraceStep[],
        duration_ms: number | null, request_id: string | null, would_admit?: NearestYes[], replay_of: string | null,
        user: User,
    }
    type Scope = { name: string, summary: string, admin_equivalent: boolean, rights: string[] }
    type Scopes = { items: Scope[] }
    type SearchResult = {
        items: ({ type: "tenant" | "user" | "api_key" | "invite" | "join_link" | "decision" | "failed_sign_in" | "domain" | "cors_origin" | "job" | "provider" | "operator", id: string, name: string, slug?: string, email?: string, tenant_id?: string, tenant_name?: string })[],
    }
    type SignInProvider = { name: string, kind: "oidc" | "google" | "github" | "cognito" | "password" }
    type SignInWays = {
        set_up: boolean, passkeys: boolean, passkeys_fault: string | null, provider: SignInProvider | null,
    }
    type Tenant = {
        id: string, slug?: string, name?: string, status: "active" | "suspended" | "deleted",
        external_id?: string | null, appearance?: Appearance, public_attributes?: Record<string, any> | null,
        private_attributes?: Record<string, any> | null, created_at: string, updated_at: string,
    }
    type TotpSeed = { seed: string, otpauth_url: string, qr_svg: string, expires_at: string }
    type TraceReference = {
        type: "provider" | "tenant" | "user" | "invite" | "domain" | "join_link", id: string, tenant_id: string | null,
        name?: string,
    }
    type TraceStep = {
        rule: "limit" | "provider" | "user_name" | "tenant" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "block_list" | "9" | "10" | "admin_create" | "confirmation",
        result: string, detail: string, about: TraceReference[],
    }
    type User = {
        id: string, tenant_id: string, email?: string, email_verified_at: string | null, name?: string | null,
        role?: "member" | "manager" | "admin", status: "pending" | "active" | "suspended" | "deleted",
        source: "invite" | "operator" | "import" | "approval" | "sign_up" | "join_link", joined_by: JoinedBy | null,
        external_id?: string | null, keep?: boolean, merged_ids: string[],
        public_attributes?: Record<string, any> | null, private_attributes?: Record<string, any> | null,
        identities: Identity[], created_at: string, updated_at: string, last_sign_in_at: string | null,
    }
    type UserList = { items: User[], next_cursor: string | null, total: { value: number, exact: boolean } }
    type UserSession = {
        id: string, user_id: string, client: string, device: string | null, created_at: string, last_seen_at: string,
        ip: string | null, user_agent: string | null, current: boolean,
    }
    type UserSessionList = {
        items: UserSession[], next_cursor: string | null, total: { value: number, exact: boolean },
    }
}
