import Domain
import JSON
import Text

/// Creates example values of a shape for the documentation. The server accepts the example of a
/// body unchanged.
extension ObjectShape {
    /// An example of an object. If `input` is true, it lacks read-only members, and members for
    /// which no valid value can be made up: times, and ids of existing objects.
    package func example(input: Bool) -> JSONValue { example(input: input, of: name ?? "") }

    /// The example of a member with the name `owner`, or of a component with this name.
    fileprivate func example(input: Bool, of owner: String) -> JSONValue {
        let fitting = name.flatMap { Self.fitting[$0] } ?? .object([])
        let absent = fitting["absent"]?.array ?? []
        let shown = fields.filter { field in
            input ? field.hasExample : !absent.contains(.string(field.name))
        }
        return .object(
            shown.map { field in
                let value =
                    fitting[field.name] ?? field.example
                    ?? field.kind.example(input: input, name: field.name, of: owner)
                return JSONValue.Member(field.name, value.lacking(absent, of: field.name))
            })
    }
}

extension JSONValue {
    /// An object without the members that `absent` names as `name.member`.
    fileprivate func lacking(_ absent: [JSONValue], of name: String) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !absent.contains(.string("\(name).\($0.name)")) })
    }
}

extension FieldShape {
    fileprivate var hasExample: Bool {
        if isReadOnly { return false }
        return isRequired || example != nil || kind.isFreelyChosen && !Self.found.contains(name)
    }

    /// The names of members that work only with something that already exists, such as an object or
    /// a mail server. Examples of bodies lack them.
    private static let found: Set = [
        "tenant", "token", "invite_token", "join_token", "link_grant", "return_to",
        "client_tenants", "endpoints", "upstreams", "passkey", "totp", "recovery_code",
        "delivery", "resend", "decline",
    ]
}

extension Kind {
    /// Whether an example of this kind can be made up. This is impossible for times, and for ids of
    /// objects that must exist.
    fileprivate var isFreelyChosen: Bool {
        switch self {
        case .timestamp, .uuid: false
        case .object(let shape): shape.fields.allSatisfy(\.kind.isFreelyChosen)
        case .array(let item, _): item.isFreelyChosen
        default: true
        }
    }

    /// An example of this kind for a member of this name.
    package func example(input: Bool, name: String = "", of owner: String = "") -> JSONValue {
        let known = Self.examples["\(owner).\(name)"] ?? Self.examples[name]
        if case .null? = known { return .null }
        switch self {
        case .string(let min, let max, let rule):
            if let example = rule?.example { return .string(example) }
            let word = known?.string ?? "example"
            let padded = word + String(repeating: "x", count: Swift.max(0, min - word.count))
            return .string(String(padded.prefix(max)))
        case .email: return .string("ada@example.com")
        case .uuid:
            let id = known?.string.flatMap { text in UUID(text).map { _ in text } }
            return .string(id ?? "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b")
        case .timestamp: return .string(known?.string ?? "2026-11-20T09:30:00.000Z")
        case .bool: return .bool(known?.bool ?? true)
        case .integer(let range):
            return .int(Swift.min(Swift.max(range.lowerBound, known?.int ?? 2), range.upperBound))
        case .enumeration(let names):
            let fits = known?.string.map { names.contains($0) } ?? false
            return (fits ? known?.string : names.first).map { .string($0) } ?? .null
        case .array(let item, _):
            return .array([item.example(input: input, name: name, of: owner)])
        case .object(let shape): return shape.example(input: input, of: name)
        case .map(of: .any): return .object([JSONValue.Member("hd", .string("example.com"))])
        case .map(let item):
            return known?.members == nil
                ? .object([JSONValue.Member("name", item.example(input: input))]) : known ?? .null
        case .attributes: return .object([.init("plan", .string("team"))])
        case .any: return known ?? .object([])
        }
    }
}

extension Kind {
    /// Realistic values for the examples of members, by their name, or by that of the object and
    /// theirs. Examples of other members are made up by their kind.
    fileprivate static let examples = exampleTable(
        """
        {
        "accept_url": "https://id.example.com/invite#token=HhIEY5Qjege25e4J…",
        "action": "api_key.created",
        "actor.id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b",
        "actor.type": "operator",
        "alias_count": 0,
        "allowed_ips": "10.0.0.0/8",
        "appearance.name": "Acme",
        "aud": "timetracker",
        "authorized_parties": "web",
        "block_disposable": false,
        "certificate": "eyJhbGciOiJFUzI1NiJ9.…",
        "challenge": "kM3pDs0Vd8Yq1w",
        "changes": {"name": [null, "Mail server"]},
        "client": "immich",
        "client_id": "web",
        "code": "conflict",
        "codes": "7Q2M-9XKC-4HTR",
        "count": 1,
        "created_by.id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b",
        "created_by.type": "operator",
        "credentials": false,
        "decision_id": "01a22d31-19f4-714f-8999-9860fcc4e91b",
        "delivery_detail": "550 5.1.1 No such mailbox.",
        "detail": "Another user has this address.",
        "dev_origins": false,
        "device": "Firefox on Linux",
        "display": "example.com",
        "domains": "example.com",
        "dry_run": false,
        "duration_ms": 1.4,
        "email": "ada@example.com",
        "event_id": "event-1",
        "exp": 1795168200,
        "expected": 1,
        "expires_at": "2026-11-27T09:30:00.000Z",
        "external_id": "crm-4711",
        "given_before": false,
        "grace_seconds": 3600,
        "hosts": "mail.acme.example",
        "iat": 1795164600,
        "identity_id": "b81c6f3d-2e7a-4d9c-8f50-1a6b3c9d7e24",
        "include_subdomains": false,
        "index": 0,
        "indexing": "plan",
        "invite_id": "e27a4d90-8c1b-4f5e-a3d6-7b0c9e2f1a45",
        "ip": "192.0.2.1",
        "iss": "https://id.example.com",
        "issuer": "https://login.example.com",
        "keep": false,
        "key": "gate_live_…",
        "kind": "import",
        "label": "Web app",
        "last4": "k3Qz",
        "last_sign_in_at": "2026-11-21T08:00:00.000Z",
        "last_used_at": "2026-11-21T08:00:00.000Z",
        "last_used_ip": "192.0.2.1",
        "logo_url":
            "/assets/logos/2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "loser": "9c1d0e6f-4b7a-4e2d-8f3a-5b6c7d8e9f0a",
        "made_by": false,
        "max_uses": 100,
        "message": "Welcome to Acme.",
        "method": "POST",
        "more": false,
        "more_tenants": false,
        "name": "Ada Lovelace",
        "next_cursor": null,
        "note": "For the mail server.",
        "notes": "These read-only members are not imported: tenant_id, source.",
        "on_accent": "#ffffff",
        "origin": "https://app.example.com",
        "otpauth_url": "otpauth://totp/Gatehouse:ada@example.com?secret=JBSWY3DPEHPK3PXP",
        "password": "correct horse battery staple",
        "path": "/v1/me",
        "paths": "/v1/me",
        "per_minute": 60,
        "policy_version": 3,
        "prefix": "gate_live_7f",
        "private_network": false,
        "provider": "oidc",
        "provider_id": "c04b7e19-5d2a-4e8f-b6c3-9a1f7d0e2b58",
        "provider_name": "Acme sign-in",
        "providers.kind": "google",
        "providers.name": "Google",
        "qr_svg": "<svg …></svg>",
        "reason": "No longer needed.",
        "record_name": "_gatehouse.example.com",
        "record_value": "gatehouse-verify=53c461d17a22c9db6875bf91d31df55c",
        "recovery_code": "7Q2M-9XKC-4HTR",
        "recovery_codes_left": 10,
        "reference": "MXyIhc",
        "relying_party": "id.example.com",
        "replay_of": null,
        "request_id": "9mYc2hTq4Lw1",
        "retry_after": 12,
        "return_to": "https://app.example.com/welcome",
        "review.id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b",
        "review.name": "Mail server",
        "review.type": "api_key",
        "revocation_reason": "The laptop was lost.",
        "rights": "readUsers",
        "row": 1,
        "scope": "smtp",
        "scopes": "smtp",
        "secret": "the secret of the provider",
        "seed": "JBSWY3DPEHPK3PXP",
        "sent_count": 1,
        "sign_in_url": "https://id.example.com/console/sign-in#token=HhIEY5Qjege25e4J…",
        "slug": "acme",
        "status": "active",
        "strict_upstreams": false,
        "subject": "110169484474386276334",
        "summary": "Read users, with their identities.",
        "target.id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b",
        "target.name": "Mail server",
        "target.type": "api_key",
        "tenant": "acme",
        "tenant.id": "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13",
        "tenant.name": "Acme",
        "tenant_id": "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13",
        "tenant_name": "Acme",
        "time_zone": "UTC",
        "timeout": 300000,
        "token": "HhIEY5Qjege25e4J…",
        "token_type": "Bearer",
        "total.value": 1,
        "totp": "287082",
        "transports": "internal",
        "triggerSource": "PreSignUp_SignUp",
        "type": "user",
        "undo_until": "2026-12-20T09:30:00.000Z",
        "undoing": false,
        "until": "2026-11-21T09:30:00.000Z",
        "url": "https://id.example.com/join#token=HhIEY5Qjege25e4J…",
        "user_agent": "Mozilla/5.0",
        "user_id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b",
        "userHandle": "AQID",
        "userName": "ada",
        "username": "ada@example.com",
        "userPoolId": "eu-central-1_AbCdEfGhI",
        "uses": 12,
        "version": 3
        }
        """)
}

extension ObjectShape {
    /// Values of members that fit each other, by the name of the component. `absent` lists optional
    /// members that do not fit the others, so that examples lack them, and as `name.member` those
    /// that an object in a member lacks.
    fileprivate static let fitting = exampleTable(
        """
        {
        "APIKey": {"previous": null, "revoked_at": null, "revocation_reason": null},
        "APIKeyOwner": {"type": "tenant", "id": "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13"},
        "APIKeyRevoked": {"status": "revoked", "previous": null},
        "APIKeyVerdict": {"name": "Mail server", "owner": {"type": "tenant", "id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13"}, "absent": ["code", "retry_after",
            "external_id", "attributes"]},
        "APIKeyWithSecret": {"previous": null, "revoked_at": null, "revocation_reason": null},
        "Attempt": {"provider": "google", "issuer": "https://accounts.google.com"},
        "Attention": {"kind": "join_requests"},
        "AuditEvent": {"seq": null, "decision_id": null},
        "AuditEventList": {"absent": ["histogram"]},
        "BulkResult": {"items": [{"id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "status":
            "done"}]},
        "Client": {"name": "immich", "unbound_hosts": []},
        "ConsoleSession": {"remedies": [], "step_up_until": "2026-11-20T09:40:00.000Z"},
        "CorsAnswer": {"rule": "exact", "reason": "listed", "preflight": {"status": 204,
            "headers": {"vary":
            "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
            "access-control-allow-origin": "https://app.example.com",
            "access-control-allow-methods": "GET, HEAD, POST, OPTIONS",
            "access-control-allow-headers": "authorization, content-type, …",
            "access-control-max-age": "600"}}, "response": {"status": null, "headers": {"vary":
            "Origin", "access-control-allow-origin": "https://app.example.com",
            "access-control-expose-headers": "x-request-id, retry-after, etag, …"}}},
        "CorsDecision": {"rule": "exact", "reason": "listed"},
        "CorsOrigin": {"expires_at": null},
        "CorsOriginCreated": {"expires_at": null, "normalised": ["trailing slash dropped",
            "lower-cased"]},
        "CorsQuestion": {"path": "/v1/tenants/acme/users"},
        "Decision": {"provider": "google", "provider_name": "Google", "issuer":
            "https://accounts.google.com", "outcome": "existing", "reason": null, "invite_id":
            null, "trace": [{"rule": "provider", "result": "known", "detail":
            "c04b7e19-5d2a-4e8f-b6c3-9a1f7d0e2b58", "about": [{"type": "provider", "id":
            "c04b7e19-5d2a-4e8f-b6c3-9a1f7d0e2b58", "tenant_id": null, "name": "Google"}]},
            {"rule": "tenant", "result": "asked", "detail":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "about": [{"type": "tenant", "id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "Acme"}]}, {"rule": "1", "result":
            "existing", "detail": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "about": [{"type":
            "user", "id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "ada@example.com"}]}], "absent":
            ["would_admit"]},
        "DecisionList": {"absent": ["histogram"]},
        "Domain": {"status": "pending", "verified_at": null},
        "DomainVerification": {"lost_at": null},
        "EmailChange": {"absent": ["expires_at_reason"]},
        "FailedSignIn": {"operation": "POST /auth/login", "reason": "wrong_password",
            "operator_id": null},
        "HookCredential": {"name": "Pool in Frankfurt"},
        "HookCredentialWithSecret": {"name": "Pool in Frankfurt", "secret": "gate_live_…"},
        "IdentifiedAPIKey": {"name": "Mail server"},
        "Identity": {"provider": "google", "linked_by": null},
        "Introspection": {"client_id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "sub":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "absent": ["username", "aud", "iat",
            "external_id", "attributes"]},
        "Invite": {"return_to": null, "delivery_detail": null, "accepted_at": null,
            "accepted_user_id": null, "status": "pending", "absent": ["expires_at_reason"],
            "delivery_status": "sent"},
        "InvitedBy": {"type": "operator", "id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b"},
        "InviteListResult": {"email": "ann@example.com", "code": null, "detail": null,
            "conflicting_id": null},
        "InviteSignIn": {"url": "https://accounts.google.com/o/oauth2/v2/auth?client_id=…"},
        "InviteWithToken": {"return_to": null, "delivery_detail": null, "accepted_at": null,
            "accepted_user_id": null, "status": "pending", "absent": ["expires_at_reason"],
            "delivery": "link", "delivery_status": null},
        "Job": {"status": "queued", "reason": null, "notes": [], "undone": 0, "kept": 0,
            "started_at": null, "finished_at": null, "undo_until": null},
        "JobProgress": {"done": 0, "failed": 0, "total": 5000, "rate": null, "eta": null},
        "JobResult": {"status": "done", "code": null, "detail": null, "target_type": "user",
            "conflicting_id": null},
        "JoinLink": {"return_to": null, "absent": ["expires_at_reason"]},
        "JoinLinkSignIn": {"url": "https://accounts.google.com/o/oauth2/v2/auth?client_id=…"},
        "JoinLinkWithURL": {"return_to": null, "uses": 0, "absent": ["expires_at_reason"]},
        "KeyReview": {"act": {"method": "POST", "path": "/v1/tenants/{tenant}/api-keys"}},
        "LinkGrant": {"url": "https://id.example.com/sign-in#grant=HhIEY5Qjege25e4J…", "absent":
            ["expires_at_reason"]},
        "ListedTenant": {"id": "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13"},
        "Me": {"principal": "key", "operator": null, "name": "first", "tenant_id": null,
            "external_id": null, "scopes": ["tenants:read"], "rights": ["readTenant"],
            "join_requests": 0},
        "NearestYes": {"detail": "Invite this address."},
        "Operator": {"second_factor_due": null},
        "OperatorCreated": {"status": "pending", "confirmed": false, "last_sign_in_at": null,
            "second_factor_due": null, "factors": {"passkeys": 0, "passkeys_unusable": 0, "totp":
            false, "recovery_codes_left": 0, "provider": false}},
        "OperatorFactors": {"passkeys": 1, "passkeys_unusable": 0},
        "OwnSession": {"method": "passkey"},
        "OwnSignIn": {"method": "passkey"},
        "Passkey": {"name": "Ada's laptop"},
        "PasswordLink": {"url": "https://id.example.com/reset#token=HhIEY5Qjege25e4J…", "absent":
            ["expires_at_reason"]},
        "PeopleResult": {"absent": ["certificate"]},
        "PersonResult": {"absent": ["code", "detail", "conflicting_id"]},
        "Policy": {"sign_up": "invite_only", "scope_catalogue": ["smtp", "api:read"],
            "password_min": 15, "blocked_domains": ["spam.example"], "blocked_emails":
            ["mallory@spam.example"], "invites_pending_max": 10000, "invites_per_inviter_hour":
            10000, "invites_per_recipient_day": 20, "absent": ["inactivity_preview"]},
        "PolicyVersion": {"created_by": "Ada Lovelace"},
        "Provider": {"email_trust": "authoritative", "endpoints": {}, "upstreams": [],
            "client_tenants": {}, "absent": ["unreachable_since"]},
        "ProviderFinding": {"detail":
            "https://sign-in.example.com/.well-known/openid-configuration belongs to this issuer."},
        "ProvisioningOutcome": {"outcome": "existing", "reason": null, "invite_id": null,
            "decision_id": null, "trace": [{"rule": "provider", "result": "known", "detail":
            "c04b7e19-5d2a-4e8f-b6c3-9a1f7d0e2b58", "about": [{"type": "provider", "id":
            "c04b7e19-5d2a-4e8f-b6c3-9a1f7d0e2b58", "tenant_id": null, "name": "Google"}]},
            {"rule": "tenant", "result": "asked", "detail":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "about": [{"type": "tenant", "id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "Acme"}]}, {"rule": "1", "result":
            "existing", "detail": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "about": [{"type":
            "user", "id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "ada@example.com"}]}], "absent":
            ["reference", "choices", "would_admit", "user.private_attributes",
            "tenant.private_attributes"]},
        "ResolvedDecision": {"provider": "google", "provider_name": "Google", "issuer":
            "https://accounts.google.com", "outcome": "refused", "reason":
            "identity_link_required", "invite_id": null, "trace": [{"rule": "provider", "result":
            "known", "detail": "c04b7e19-5d2a-4e8f-b6c3-9a1f7d0e2b58", "about": [{"type":
            "provider", "id": "c04b7e19-5d2a-4e8f-b6c3-9a1f7d0e2b58", "tenant_id": null, "name":
            "Google"}]}, {"rule": "tenant", "result": "asked", "detail":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "about": [{"type": "tenant", "id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "Acme"}]}, {"rule": "1", "result":
            "not known", "detail": "", "about": []}, {"rule": "2", "result": "well formed",
            "detail": "", "about": []}, {"rule": "3", "result": "no token", "detail": "", "about":
            []}, {"rule": "4", "result": "one", "detail":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13 active user", "about": [{"type": "tenant", "id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "Acme"}, {"type": "user", "id":
            "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "ada@example.com"}]}, {"rule": "5",
            "result": "\(TraceEntry.addressProved)", "detail": "claim", "about": []}, {"rule":
            "6", "result": "no live invite", "detail": "", "about": []}, {"rule": "7", "result":
            "no pending row", "detail": "", "about": []}, {"rule": "8", "result":
            "address_unproved", "detail": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "about":
            [{"type": "user", "id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "ada@example.com"}]}, {"rule": "8",
            "result": "identity_link_required", "detail": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b",
            "about": [{"type": "user", "id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13", "name": "ada@example.com"}]}], "absent":
            ["would_admit"]},
        "Scope": {"name": "tenants:read", "summary": "Read tenants.", "admin_equivalent": false,
            "rights": ["readTenant"]},
        "SearchResult": {"items": [{"type": "user", "id": "3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b",
            "name": "Ada Lovelace", "email": "ada@example.com", "tenant_id":
            "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13"}]},
        "SignInProvider": {"name": "Acme sign-in"},
        "SignInWays": {"passkeys_fault": null},
        "Tenant": {"id": "7d1f0a52-3c8e-4b6a-9f21-0e5b7c4d8a13"},
        "User": {"source": "sign_up", "joined_by": null, "merged_ids": []}
        }
        """)
}

private func exampleTable(_ text: String) -> [String: JSONValue] {
    let members = (try? JSONValue(parsing: Array(text.utf8)))?.members ?? []
    return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value) })
}
