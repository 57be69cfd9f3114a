/// One row for each route that changes something, by hand after what operators' recent sign-ins are
/// decided to be for: acts that make a credential, move trust, or end something wide. A route
/// without a row, or a row without a route, fails the test.
struct RecentSignIn: Sendable {
    enum Asked: Sendable {
        case never, always
        /// Where an admin gets in, or gets a token, by it.
        case ofAdmin
    }

    /// What the path's `{id}` is, made for this call with the role of its turn.
    enum Subject: Sendable { case any, active, suspended, deleted, waiting, invite }

    struct Call: Sendable {
        var asked: Asked
        /// In it and in the query ROLE is the role of the turn, THING a subject made for this call,
        /// NEW text that no other call has. Nil: as the API document shows it.
        var body: String?
        var query = ""
        var subject = Subject.any
        /// Whether it is about a person or an invite of the role of the turn.
        var hasRole: Bool { subject != .any || body?.contains("ROLE") ?? false }

        static func never(_ body: String? = nil, _ query: String = "") -> Call {
            Call(asked: .never, body: body, query: query)
        }
        static func always(_ body: String? = nil, _ query: String = "") -> Call {
            Call(asked: .always, body: body, query: query)
        }
        static func ofAdmin(_ body: String? = nil) -> Call { Call(asked: .ofAdmin, body: body) }

        func to(_ subject: Subject) -> Call {
            var call = self
            call.subject = subject
            return call
        }
    }

    var route: String
    var calls: [Call]

    init(_ route: String, _ calls: Call...) {
        self.route = route
        self.calls = calls
    }

    private static let acme = "/v1/tenants/{tenant}"
    private static let users = "\(acme)/users/{id}"
    private static let invites = "\(acme)/invites/{id}"

    static let all: [RecentSignIn] =
        own + open + tenants + trust + ofUsers + ofInvites + keys + questions + jobs + operators
        + [
            // They end the session or the tenant, so they come last.
            .init("DELETE /v1/me/sessions", .never()), .init("DELETE /v1/session", .never()),
            .init("POST \(acme)/suspend", .always()), .init("DELETE \(acme)", .always()),
        ]

    /// The operator's own account: new ways in ask, names and ends do not.
    private static let own: [RecentSignIn] = [
        // Without a method to prove presence by it says so by the same code.
        .init("POST /v1/session/step-up"),
        .init("POST /v1/session/link", .never()),
        .init("PATCH /v1/me", .never(#"{"name":"Other"}"#)),
        .init("PUT /v1/me/password", .always(#"{"password":"another long password"}"#)),
        .init("POST /v1/me/totp", .always()),
        .init("POST /v1/me/totp/confirm", .always(#"{"code":"123456"}"#)),
        .init("DELETE /v1/me/totp", .always()),
        .init("POST /v1/me/recovery-codes", .always()),
        .init("DELETE /v1/me/sessions/{id}", .never()),
        .init(
            "POST /v1/me/passkeys",
            .always(
                #"{"name":"k","passkey":{"id":"AQ","type":"public-key","#
                    + #""response":{"clientDataJSON":"e30","attestationObject":"oA"}}}"#
            )),
        .init(
            "POST /v1/me/passkeys/options", .always("{}"), .never(#"{"purpose":"step_up"}"#)),
        .init("PATCH /v1/me/passkeys/{id}", .never(#"{"name":"Other"}"#)),
        .init("DELETE /v1/me/passkeys/{id}", .always()),
    ]

    /// No session is looked at.
    private static let open: [RecentSignIn] = [
        "session", "session/passkey-options", "session/not-me", "setup", "invites/preview",
        "invites/accept", "invites/sign-in", "provisioning/sign-in", "join-links/preview",
        "join-links/sign-in", "password-resets", "password-resets/confirm",
        "email-changes/confirm",
    ].map { RecentSignIn("POST /v1/\($0)", .never()) }

    private static let tenants: [RecentSignIn] = [
        .init("POST /v1/tenants", .never(#"{"slug":"tNEW","name":"T"}"#)),
        .init("PATCH \(acme)", .never(#"{"name":"Other"}"#)),
        .init("PUT \(acme)/logo", .never("<svg viewBox='0 0 1 1'><path d='M0 0'/></svg>")),
        .init("DELETE \(acme)/logo", .never()),
        .init("POST \(acme)/resume", .never()), .init("POST \(acme)/restore", .never()),
        .init("POST /v1/people/search", .never(#"{"email":"ann@a.example"}"#)),
        .init(
            "POST /v1/people/actions",
            .always(person("export")), .always(person("erase")),
            .never(person("suspend")).to(.active), .never(person("end_sessions")).to(.active)),
        .init("PUT \(acme)/attribute-schema", .never(#"{"attributes":{}}"#)),
        .init("DELETE \(acme)/attribute-schema", .never()),
    ]

    private static func person(_ action: String) -> String {
        #"{"action":"\#(action)","reason":"asked","users":[{"tenant":"acme","id":"THING"}]}"#
    }

    /// Whose word counts.
    private static let trust: [RecentSignIn] = [
        .init("PUT \(acme)/policy", .always("{}")),
        .init("POST \(acme)/domains", .always(#"{"domain":"dNEW.example"}"#)),
        .init("PATCH \(acme)/domains/{id}", .always(#"{"mode":"ask"}"#)),
        .init("DELETE \(acme)/domains/{id}", .always()),
        .init(
            "POST \(acme)/domains/{id}/verify",
            .always(#"{"method":"operator"}"#), .never(#"{"method":"dns"}"#)),
        .init("POST /v1/providers", .always(#"{"kind":"google","name":"H","client_id":"NEW"}"#)),
        .init("PATCH /v1/providers/{id}", .always(#"{"name":"Other"}"#)),
        .init("DELETE /v1/providers/{id}", .always()),
        .init("POST /v1/providers/{id}/hook-credentials", .always("{}")),
        .init("DELETE /v1/providers/{id}/hook-credentials/{credential_id}", .never()),
        .init("POST /v1/providers/{id}/test", .never()),
        .init("PUT \(acme)/clients/{client}", .always("{}")),
        .init(
            "POST \(acme)/cors-origins",
            .always(#"{"origin":"https://NEW.example","credentials":true}"#),
            .never(#"{"origin":"https://NEW.example"}"#)),
        .init(
            "PUT \(acme)/cors-origins",
            .always(#"{"items":[{"origin":"https://NEW.example","credentials":true}]}"#),
            .never(#"{"items":[{"origin":"https://NEW.example"}]}"#)),
        .init("DELETE \(acme)/cors-origins/{id}", .never()),
        .init(
            "POST /v1/cors-origins",
            .always(#"{"origin":"https://NEW.example","credentials":true}"#),
            .never(#"{"origin":"https://NEW.example"}"#)),
        .init("DELETE /v1/cors-origins/{id}", .never()),
    ]

    private static let ofUsers: [RecentSignIn] = [
        .init(
            "POST \(acme)/users", .ofAdmin(#"{"email":"nNEW@a.example","role":"ROLE"}"#),
            .never(#"{"email":"nNEW@a.example"}"#)),
        .init(
            "POST \(acme)/users/actions",
            .ofAdmin(#"{"action":"set_role","role":"ROLE","ids":["THING"]}"#).to(.active),
            .ofAdmin(act("resume")).to(.suspended), .ofAdmin(act("approve")).to(.waiting),
            .never(act("suspend")).to(.active), .never(act("delete")).to(.active),
            .never(act("end_sessions")).to(.active), .never(act("revoke_keys")).to(.active),
            .always(#"{"action":"suspend","ids":[HUNDRED]}"#)),
        .init(
            "POST \(acme)/users/merges", .always(#"{"winner":"WINNER","loser":"LOSER"}"#),
            .never(#"{"winner":"WINNER","loser":"LOSER"}"#, "?dry_run=true")),
        .init("POST \(acme)/users/merges/{id}/undo", .always()),
        .init("POST \(acme)/imports", .always(#"{"email":"ann@x.example"}"#, "?format=ndjson")),
        .init(
            "PATCH \(users)", .ofAdmin(#"{"role":"ROLE"}"#).to(.active),
            .never(#"{"name":"Other"}"#).to(.active)),
        .init(
            "DELETE \(users)", Call(asked: .always, query: "?purge=true").to(.active),
            .never().to(.active)),
        .init("POST \(users)/suspend", .never().to(.active)),
        .init("POST \(users)/resume", .ofAdmin().to(.suspended)),
        .init("POST \(users)/restore", .ofAdmin().to(.deleted)),
        .init("POST \(users)/approve", .ofAdmin("{}").to(.waiting)),
        .init("POST \(users)/decline", .never("{}").to(.waiting)),
        .init(
            "POST \(users)/identities",
            .always(
                #"{"provider":"google","issuer":"https://accounts.google.com","subject":"NEW"}"#
            ).to(.active)),
        .init("DELETE \(users)/identities/{identity_id}", .never()),
        .init("POST \(users)/link-grants", .always().to(.active)),
        .init("POST \(users)/password-link", .always("{}").to(.active)),
        .init("POST \(users)/email-change", .always(#"{"email":"eNEW@a.example"}"#).to(.active)),
        .init("DELETE \(users)/email-change", .never().to(.active)),
        .init("DELETE \(users)/sessions", .never().to(.active)),
        .init("DELETE \(users)/sessions/{session_id}", .never()),
        .init(
            "POST \(acme)/provisioning/decisions/{id}/resolve",
            .always(#"{"action":"give_account"}"#),
            .always(#"{"action":"open_another","email":"oNEW@a.example"}"#)),
    ]

    private static func act(_ action: String) -> String {
        #"{"action":"\#(action)","ids":["THING"]}"#
    }

    private static let ofInvites: [RecentSignIn] = [
        .init(
            "POST \(acme)/invites",
            .ofAdmin(#"{"email":"iNEW@a.example","role":"ROLE","delivery":"link"}"#),
            .ofAdmin(#"{"email":"iNEW@a.example","role":"ROLE","delivery":"mail"}"#),
            .ofAdmin(#"{"invites":[{"email":"iNEW@a.example","role":"ROLE"}]}"#),
            .ofAdmin(#"{"email":"ADDRESS","resend":true,"delivery":"link"}"#).to(.invite),
            .ofAdmin(#"{"invites":[{"email":"ADDRESS","resend":true,"delivery":"link"}]}"#)
                .to(.invite)),
        .init(
            "POST \(acme)/invites/actions", .ofAdmin(act("resend")).to(.invite),
            .never(act("revoke")).to(.invite), .always(#"{"action":"revoke","ids":[HUNDRED]}"#)),
        .init(
            "PATCH \(invites)", .ofAdmin(#"{"role":"ROLE"}"#).to(.invite),
            .never(#"{"message":"Hello"}"#).to(.invite)),
        .init("POST \(invites)/resend", .ofAdmin(#"{"delivery":"link"}"#).to(.invite)),
        .init("POST \(invites)/revoke", .never().to(.invite)),
        .init("POST \(acme)/join-links", .always("{}")),
        .init("POST \(acme)/join-links/{id}/revoke", .never()),
        .init("POST /v1/mail/bounces", .never("From: a@b.example\r\n\r\nHello")),
    ]

    private static let keys: [RecentSignIn] =
        [acme, "/v1"].flatMap { place in
            let one = "\(place)/api-keys/{id}"
            return [
                RecentSignIn("POST \(place)/api-keys", .always(#"{"name":"k","scopes":[]}"#)),
                RecentSignIn(
                    "PATCH \(one)", .always(#"{"scopes":["users:read","cors:write"]}"#),
                    .never(#"{"name":"Other"}"#)),
                RecentSignIn("POST \(one)/rotate", .always("{}")),
                RecentSignIn("POST \(one)/rollback", .always()),
                RecentSignIn("POST \(one)/cut", .never()),
                RecentSignIn("POST \(one)/revoke", .never("{}")),
            ]
        } + [
            .init(
                "POST \(acme)/api-keys/actions",
                .never(#"{"action":"revoke","ids":["THING"]}"#),
                .always(#"{"action":"revoke","ids":[HUNDRED]}"#)),
            .init(
                "POST \(acme)/api-keys/revoke", .always(#"{"reason":"leaked"}"#),
                .never(#"{"owner_user_id":"THING","reason":"leaked"}"#).to(.active)),
        ]

    /// They ask or show only, or are for machines.
    private static let questions: [RecentSignIn] = [
        .init("POST /v1/api-keys/verify", .never()),
        .init("POST /v1/api-keys/verify-batch", .never()),
        .init("POST /v1/api-keys/identify", .never()),
        .init("POST /oauth/introspect", .never("token=x")),
        .init("POST /v1/cors/evaluate", .never()),
        .init("POST /v1/provisioning/evaluate", .never(attempt)),
        .init("POST /v1/hooks/pre-signup", .never(attempt)),
        .init("POST /v1/hooks/pre-signup/cognito", .never()),
        .init("POST /v1/hooks/post-confirmation/cognito", .never()),
        .init("POST /2015-03-31/functions/{name}/invocations", .never()),
    ]

    private static let attempt =
        #"{"provider":"google","subject":"NEW","email":"x@gmail.com","tenant":"acme"}"#

    private static let jobs: [RecentSignIn] = [acme, "/v1"].flatMap { place in
        let one = "POST \(place)/jobs/{id}"
        return [
            RecentSignIn("\(one)/pause", .never()), RecentSignIn("\(one)/cancel", .never()),
            RecentSignIn("\(one)/resume", .always()), RecentSignIn("\(one)/undo", .always()),
        ]
    }

    private static let operators: [RecentSignIn] = [
        .init(
            "POST /v1/operators",
            .always(
                #"{"email":"nNEW@a.example","role":"support","delivery":"link","scope":{"tenant":"acme"}}"#
            )),
        .init("PATCH /v1/operators/{id}", .always(#"{"name":"Other"}"#)),
        .init("DELETE /v1/operators/{id}", .always()),
        .init("POST /v1/operators/{id}/link", .always()),
        .init("DELETE /v1/operators/{id}/provider", .always()),
        .init(
            "PUT /v1/operator-sign-in", .always(#"{"provider":"THING","domains":["a.example"]}"#)),
        .init("DELETE /v1/operator-sign-in", .always()),
    ]
}
