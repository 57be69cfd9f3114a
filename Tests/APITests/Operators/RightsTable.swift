/// Who may call each route. A route without a row, or a row without a route, fails `RightsTests`.
struct RouteRight: Sendable {
    enum Place: Sendable {
        /// Below a tenant: a 404 for any other credential.
        case tenant
        /// Without a tenant in the path: each credential has its own scope there.
        case home
        /// The platform's operators and keys alone.
        case platform
        /// Any signed-in caller; operators alone.
        case signedIn, operators
        /// No credential is looked at.
        case open
    }

    var route: String
    /// owner, admin, developer, support, auditor, user admin, manager, member. `y` yes, `-` no,
    /// `o` own things, `p` own things where those of others are seen, `m` and `g` up to the role
    /// member or manager.
    var cells: String
    var scope: String
    var place: Place
    /// What only an owner may do is beyond a tenant's own key, whatever its scopes.
    var isForTenantKeys = true
    /// Of operators at the platform, where they have more there.
    var platformCells: String

    init(
        _ route: String, _ cells: String, _ scope: String, _ place: Place = .tenant,
        isForTenantKeys: Bool = true, platformCells: String? = nil
    ) {
        self.route = route
        self.cells = cells
        self.scope = scope
        self.place = place
        self.isForTenantKeys = isForTenantKeys
        self.platformCells = platformCells ?? cells
    }

    init(_ route: String, _ place: Place) {
        self.init(route, "yyyyyyyy", "", place)
    }

    private static let acme = "/v1/tenants/{tenant}"

    static let all: [RouteRight] =
        session + tenants + policy + users + invites + keys + origins + provisioning + operators
        + jobs

    private static let session: [RouteRight] = [
        .init("POST /v1/session", .open), .init("GET /v1/session", .operators),
        .init("DELETE /v1/session", .signedIn), .init("GET /v1/me", .signedIn),
        .init("POST /v1/session/step-up", .operators),
        .init("POST /v1/session/link", .operators),
        .init("GET /v1/session/provider", .open),
        .init("GET /v1/session/provider/callback", .open),
        .init("GET /v1/session/step-up/provider", .operators),
        .init("PATCH /v1/me", .operators), .init("PUT /v1/me/password", .operators),
        .init("POST /v1/me/totp", .operators), .init("POST /v1/me/totp/confirm", .operators),
        .init("DELETE /v1/me/totp", .operators),
        .init("POST /v1/me/recovery-codes", .operators),
        .init("GET /v1/me/sessions", .operators), .init("DELETE /v1/me/sessions", .operators),
        .init("DELETE /v1/me/sessions/{id}", .operators),
        .init("GET /v1/me/sign-ins", .operators),
        .init("POST /v1/session/passkey-options", .open),
        .init("POST /v1/session/not-me", .open), .init("GET /v1/session/ways", .open),
        .init("GET /v1/me/passkeys", .operators), .init("POST /v1/me/passkeys", .operators),
        .init("POST /v1/me/passkeys/options", .operators),
        .init("PATCH /v1/me/passkeys/{id}", .operators),
        .init("DELETE /v1/me/passkeys/{id}", .operators),
        .init("GET /v1/scopes", .open), .init("GET /assets/logos/{hash}", .open),
        .init("POST /v1/setup", .open), .init("POST /v1/invites/preview", .open),
        .init("POST /v1/invites/accept", .open), .init("POST /v1/provisioning/sign-in", .open),
        .init("POST /v1/invites/sign-in", .open),
        .init("POST /v1/join-links/preview", .open), .init("POST /v1/join-links/sign-in", .open),
        .init("POST /v1/password-resets", .open),
        .init("POST /v1/password-resets/confirm", .open),
        .init("POST /v1/email-changes/confirm", .open),
    ]

    private static let tenants: [RouteRight] = [
        .init("GET /v1/tenants", "yyyyyyyo", "tenants:read", .home),
        .init("POST /v1/tenants", "yy---", "tenants:write", .platform),
        .init("GET \(acme)", "yyyyyyyo", "tenants:read"),
        .init("PATCH \(acme)", "yy------", "tenants:write"),
        .init("PUT \(acme)/logo", "yy------", "tenants:write"),
        .init("DELETE \(acme)/logo", "yy------", "tenants:write"),
        .init("POST \(acme)/suspend", "y-------", "tenants:write", isForTenantKeys: false),
        .init("POST \(acme)/resume", "y-------", "tenants:write", isForTenantKeys: false),
        .init("POST \(acme)/restore", "y-------", "tenants:write", isForTenantKeys: false),
        .init(
            "DELETE \(acme)", "y-------", "tenants:write", isForTenantKeys: false,
            platformCells: "yy------"),
        .init("GET /v1/stats/overview", "yyyyyyy-", "users:read", .home),
        .init("GET /v1/search", "yyyyyyy-", "users:read", .home),
        .init("POST /v1/people/search", "yyyyy", "users:read", .platform),
        .init("POST /v1/people/actions", "yy-y-", "users:write", .platform),
        .init("GET /v1/audit-events", "yyo-yy-o", "audit:read", .home),
        .init("GET \(acme)/audit-events", "yyo-yy-o", "audit:read"),
    ]

    private static let policy: [RouteRight] = [
        .init("GET \(acme)/policy", "yyy-y---", "policy:read"),
        .init("PUT \(acme)/policy", "yy------", "policy:write"),
        .init("GET \(acme)/attribute-schema", "yyy-y---", "policy:read"),
        .init("PUT \(acme)/attribute-schema", "yy------", "policy:write"),
        .init("DELETE \(acme)/attribute-schema", "yy------", "policy:write"),
        .init("GET \(acme)/policy/versions", "yyy-y---", "policy:read"),
        .init("GET \(acme)/domains", "yyy-y---", "policy:read"),
        .init("POST \(acme)/domains", "yy------", "policy:write"),
        .init("GET \(acme)/domains/{id}", "yyy-y---", "policy:read"),
        .init("PATCH \(acme)/domains/{id}", "yy------", "policy:write"),
        .init("DELETE \(acme)/domains/{id}", "yy------", "policy:write"),
        .init("POST \(acme)/domains/{id}/verify", "yy------", "policy:write"),
        .init("GET /v1/providers", "yyy-y---", "providers:read", .home),
        .init("POST /v1/providers", "yy------", "providers:write", .home),
        .init("GET /v1/providers/{id}", "yyy-y---", "providers:read", .home),
        .init("PATCH /v1/providers/{id}", "yy------", "providers:write", .home),
        .init("DELETE /v1/providers/{id}", "yy------", "providers:write", .home),
        .init("GET /v1/providers/{id}/hook-credentials", "yyy-y---", "providers:read", .home),
        .init("POST /v1/providers/{id}/hook-credentials", "yy------", "providers:write", .home),
        .init("POST /v1/providers/{id}/test", "yy------", "providers:write", .home),
        .init(
            "DELETE /v1/providers/{id}/hook-credentials/{credential_id}", "yy------",
            "providers:write", .home),
    ]

    private static let users: [RouteRight] = [
        .init("GET \(acme)/users", "yyyyyyyo", "users:read"),
        .init("POST \(acme)/users", "yy---y--", "users:write"),
        .init("POST \(acme)/users/actions", "yy-y-y--", "users:write"),
        .init("GET \(acme)/users/duplicates", "yyyyyyy-", "users:read"),
        .init("GET \(acme)/users/merges", "yyyyyyy-", "users:read"),
        .init("POST \(acme)/users/merges", "yy---y--", "users:write"),
        .init("POST \(acme)/imports", "yy---y--", "users:write"),
        .init("GET \(acme)/users/merges/{id}", "yyyyyyy-", "users:read"),
        .init("POST \(acme)/users/merges/{id}/undo", "yy---y--", "users:write"),
        .init("GET \(acme)/users/{id}", "yyyyyyyo", "users:read"),
        .init("PATCH \(acme)/users/{id}", "yy---ypo", "users:write"),
        .init("DELETE \(acme)/users/{id}", "yy---y--", "users:write"),
        .init("POST \(acme)/users/{id}/suspend", "yy-y-y--", "users:write"),
        .init("POST \(acme)/users/{id}/resume", "yy---y--", "users:write"),
        .init("POST \(acme)/users/{id}/restore", "yy---y--", "users:write"),
        .init("POST \(acme)/users/{id}/approve", "yy---y--", "users:write"),
        .init("POST \(acme)/users/{id}/decline", "yy---y--", "users:write"),
        .init("GET \(acme)/users/{id}/identities", "yyyyyyyo", "users:read"),
        .init("POST \(acme)/users/{id}/identities", "yy---y--", "users:write"),
        .init("DELETE \(acme)/users/{id}/identities/{identity_id}", "yy---y-o", "users:write"),
        .init("POST \(acme)/users/{id}/link-grants", "yy---y--", "users:write"),
        .init("POST \(acme)/users/{id}/password-link", "yy---y--", "users:write"),
        .init("POST \(acme)/users/{id}/email-change", "yy---y--", "users:write"),
        .init("DELETE \(acme)/users/{id}/email-change", "yy---y--", "users:write"),
        .init("GET \(acme)/users/{id}/sessions", "yyyyyyyo", "users:read"),
        .init("DELETE \(acme)/users/{id}/sessions", "yy-y-y--", "users:write"),
        .init("DELETE \(acme)/users/{id}/sessions/{session_id}", "yy-y-y--", "users:write"),
    ]

    private static let invites: [RouteRight] = [
        .init("GET \(acme)/invites", "yyyyyyyo", "invites:read"),
        .init("POST \(acme)/invites", "yy-m-yg-", "invites:write"),
        .init("POST /v1/mail/bounces", "yy---", "mail:bounces", .platform),
        .init("POST \(acme)/invites/actions", "yy-m-yg-", "invites:write"),
        .init("GET \(acme)/invites/{id}", "yyyyyyyo", "invites:read"),
        .init("PATCH \(acme)/invites/{id}", "yy-m-yg-", "invites:write"),
        .init("POST \(acme)/invites/{id}/resend", "yy-m-yg-", "invites:write"),
        .init("POST \(acme)/invites/{id}/revoke", "yy-m-yg-", "invites:write"),
        // Whoever may invite members may make a link: its role is always member.
        .init("GET \(acme)/join-links", "yyyyyyy-", "invites:read"),
        .init("POST \(acme)/join-links", "yy-y-yy-", "invites:write"),
        .init("GET \(acme)/join-links/{id}", "yyyyyyy-", "invites:read"),
        .init("POST \(acme)/join-links/{id}/revoke", "yy-y-yy-", "invites:write"),
    ]

    private static let keys: [RouteRight] = [
        .init("GET \(acme)/api-keys", "yyyyyyoo", "api-keys:read"),
        .init("POST \(acme)/api-keys", "yyy--yoo", "api-keys:write"),
        .init("POST \(acme)/api-keys/actions", "yyyy-yoo", "api-keys:write"),
        .init("GET \(acme)/api-keys/{id}", "yyyyyyoo", "api-keys:read"),
        .init("GET \(acme)/api-keys/{id}/uses", "yyyyyyoo", "api-keys:read"),
        .init("PATCH \(acme)/api-keys/{id}", "yyy--yoo", "api-keys:write"),
        .init("POST \(acme)/api-keys/{id}/revoke", "yyyy-yoo", "api-keys:write"),
        .init("POST \(acme)/api-keys/{id}/rotate", "yyy--yoo", "api-keys:write"),
        .init("POST \(acme)/api-keys/{id}/cut", "yyy--yoo", "api-keys:write"),
        .init("POST \(acme)/api-keys/{id}/rollback", "yyy--yoo", "api-keys:write"),
        .init("POST \(acme)/api-keys/revoke", "yyyy-yoo", "api-keys:write"),
        .init("GET /v1/api-keys", "yyyyy", "api-keys:read", .platform),
        .init("POST /v1/api-keys", "yy---", "api-keys:write", .platform),
        .init("GET /v1/api-keys/{id}", "yyyyy", "api-keys:read", .platform),
        .init("GET /v1/api-keys/{id}/uses", "yyyyy", "api-keys:read", .platform),
        .init("PATCH /v1/api-keys/{id}", "yy---", "api-keys:write", .platform),
        .init("POST /v1/api-keys/{id}/revoke", "yy---", "api-keys:write", .platform),
        .init("POST /v1/api-keys/{id}/rotate", "yy---", "api-keys:write", .platform),
        .init("POST /v1/api-keys/{id}/cut", "yy---", "api-keys:write", .platform),
        .init("POST /v1/api-keys/{id}/rollback", "yy---", "api-keys:write", .platform),
        .init("POST /v1/api-keys/verify", .signedIn),
        .init("POST /v1/api-keys/verify-batch", .signedIn),
        .init("POST /v1/api-keys/identify", .signedIn),
        .init("POST /oauth/introspect", .signedIn),
    ]

    private static let origins: [RouteRight] = [
        .init("GET \(acme)/cors-origins", "yyy-yy--", "cors:read"),
        .init("GET \(acme)/cors-origins/refused", "yyy-yy--", "cors:read"),
        .init("POST \(acme)/cors-origins", "yyy-----", "cors:write"),
        .init("PUT \(acme)/cors-origins", "yyy-----", "cors:write"),
        .init("GET \(acme)/cors-origins/{id}", "yyy-yy--", "cors:read"),
        .init("DELETE \(acme)/cors-origins/{id}", "yyy-----", "cors:write"),
        .init("GET \(acme)/clients", "yyy-yy--", "clients:read"),
        .init("GET \(acme)/failed-sign-ins", "yyy-yy--", "clients:read"),
        .init("GET /v1/failed-sign-ins", "yyy-yy--", "clients:read", .home),
        .init("GET \(acme)/clients/{client}", "yyy-yy--", "clients:read"),
        .init("PUT \(acme)/clients/{client}", "yyy-----", "clients:write"),
        .init("GET /v1/cors-origins", "yyy-y", "cors:read", .platform),
        .init("POST /v1/cors-origins", "yy---", "cors:write", .platform),
        .init("GET /v1/cors-origins/{id}", "yyy-y", "cors:read", .platform),
        .init("DELETE /v1/cors-origins/{id}", "yy---", "cors:write", .platform),
        .init("POST /v1/cors/evaluate", "yyyyyy--", "cors:read", .home),
        .init("GET /v1/cors/decision", "yyyyyy--", "cors:read", .home),
    ]

    private static let provisioning: [RouteRight] = [
        .init("POST /v1/provisioning/evaluate", "yyyyyy--", "users:read", .home),
        .init("GET /v1/provisioning/decisions", "yyyyyyyo", "users:read", .home),
        .init("GET /v1/provisioning/decisions/{id}", "yyyyyyyo", "users:read", .home),
        .init("GET \(acme)/provisioning/decisions", "yyyyyyyo", "users:read"),
        .init("GET \(acme)/provisioning/decisions/{id}", "yyyyyyyo", "users:read"),
        .init(
            "POST \(acme)/provisioning/decisions/{id}/resolve", "yy---y--", "users:write"),
        .init("POST /v1/hooks/pre-signup", "yyy--y--", "hooks:signup", .home),
        .init("POST /v1/hooks/pre-signup/cognito", "yyy--y--", "hooks:signup", .home),
        .init("POST /v1/hooks/post-confirmation/cognito", "yyy--y--", "hooks:signup", .home),
        .init("POST /2015-03-31/functions/{name}/invocations", "yyy--y--", "hooks:signup", .home),
    ]

    /// Who may read a job is let in; whoever acts on it needs what the job does, which the handler
    /// checks.
    private static let jobs: [RouteRight] = [
        .init("GET \(acme)/jobs", "yyyyyyy-", "users:read"),
        .init("GET \(acme)/jobs/{id}", "yyyyyyy-", "users:read"),
        .init("GET \(acme)/jobs/{id}/report", "yyyyyyy-", "users:read"),
        .init("GET \(acme)/jobs/{id}/events", "yyyyyyy-", "users:read"),
        .init("POST \(acme)/jobs/{id}/pause", "yyyyyyy-", "users:read"),
        .init("POST \(acme)/jobs/{id}/resume", "yyyyyyy-", "users:read"),
        .init("POST \(acme)/jobs/{id}/cancel", "yyyyyyy-", "users:read"),
        .init("POST \(acme)/jobs/{id}/undo", "yyyyyyy-", "users:read"),
        .init("GET /v1/jobs", "yyyyy", "users:read", .platform),
        .init("GET /v1/jobs/{id}", "yyyyy", "users:read", .platform),
        .init("GET /v1/jobs/{id}/report", "yyyyy", "users:read", .platform),
        .init("GET /v1/jobs/{id}/events", "yyyyy", "users:read", .platform),
        .init("POST /v1/jobs/{id}/pause", "yyyyy", "users:read", .platform),
        .init("POST /v1/jobs/{id}/resume", "yyyyy", "users:read", .platform),
        .init("POST /v1/jobs/{id}/cancel", "yyyyy", "users:read", .platform),
        .init("POST /v1/jobs/{id}/undo", "yyyyy", "users:read", .platform),
    ]

    private static let operators: [RouteRight] = [
        .init("GET /v1/operators", "y-------", "operators:read", .home),
        .init("POST /v1/operators", "y-------", "operators:write", .home),
        .init("GET /v1/operators/{id}", "y-------", "operators:read", .home),
        .init("PATCH /v1/operators/{id}", "y-------", "operators:write", .home),
        .init("DELETE /v1/operators/{id}", "y-------", "operators:write", .home),
        .init("POST /v1/operators/{id}/link", "y-------", "operators:write", .home),
        .init("DELETE /v1/operators/{id}/provider", "y-------", "operators:write", .home),
        .init("GET /v1/operator-sign-in", "y-------", "operators:read", .platform),
        .init("PUT /v1/operator-sign-in", "y-------", "operators:write", .platform),
        .init("DELETE /v1/operator-sign-in", "y-------", "operators:write", .platform),
    ]
}
