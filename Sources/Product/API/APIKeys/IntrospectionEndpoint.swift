import Domain
import HTTP
import JSON
import Storage
import Text

/// `/oauth/introspect` (RFC 7662): the status of an API key, or of an app's token.
enum IntrospectionEndpoint {
    static let endpoint = Endpoint(
        .post, "/oauth/introspect", id: "introspect", tag: "API keys",
        summary: "Returns whether an API key or an app's token is active (RFC 7662).",
        notes: """
            To get a result, the caller needs the scope `keys:verify`, and must belong to the \
            platform or to the tenant of the examined token. Every other caller gets 200 and \
            `{"active":false}`.
            """,
        access: .principal,
        body: .raw([.object("application/x-www-form-urlencoded", ObjectShape([token], open: true))]
        ),
        answers: [.ok(shape)]
    ) { call in
        let token = try presented(call)
        guard let members = try await facts(of: token, call) else {
            return .ok(.object([.init("active", .bool(false))]))
        }
        return .ok(
            .object(
                [
                    .init("active", .bool(true)), .init("token_type", .string("Bearer")),
                    .init("iss", .string(call.application.publicURL)),
                ] + members))
    }

    private static let token = FieldShape(
        "token", .string(min: 1, max: 8192), required: true,
        "The token to examine (RFC 7662 §2.1): an API key, or the access token of an app.",
        example: .string("gate_live_…"))

    private static func presented(_ call: Call) throws -> String {
        guard let form = String(validating: call.request.body, as: UTF8.self) else {
            throw Problem(.invalidRequest, "The form is not UTF-8.")
        }
        // Unknown parameters are ignored (RFC 6749 §3.2).
        let (fields, errors) = decodeQuery(
            form, [QueryParameter(token.name, token.kind, required: true, token.summary)])
        guard errors.allSatisfy({ $0.code == .unknown }),
            let token = fields.optionalString("token")
        else {
            throw Problem(
                .invalidRequest,
                "The form needs one `token` of 1 to 8192 characters, percent-encoded correctly.")
        }
        return token
    }

    /// The members of the response for an active token; `nil` if the token is invalid or if the
    /// caller may not ask about it. The response is the same in both cases (RFC 7662 section 2.2).
    private static func facts(of token: String, _ call: Call) async throws -> [JSONValue.Member]? {
        if token.utf8.starts(with: "gate_".utf8) { return try await facts(ofKey: token, call) }
        let caller = call.principal.subject
        return try await call.application.tokens.active(token) {
            Permissions.permits(caller, .verifyKeys, in: $0) == .allowed
        }.map { facts(of: $0) }
    }

    private static func facts(
        ofKey text: String, _ call: Call
    ) async throws -> [JSONValue.Member]? {
        // Introspection does not count against the key's rate limit.
        let finding = try await KeyFinding.of(KeyQuestion(text), isLimited: false, call)
        // The key's networks and origins cannot be checked here, since the end user's address and
        // origin are unknown. The resource server that asks must check them.
        guard [.valid, .ipNotAllowed, .originNotAllowed].contains(finding.verdict),
            let key = finding.key
        else { return nil }
        var members: [JSONValue.Member] = [
            .init("scope", .string(key.scopes.joined(separator: " "))),
            .init("client_id", .uuid(key.id)), .init("tenant_id", .uuid(key.home)),
        ]
        if let subject = key.ownerUser ?? key.home { members.append(.init("sub", .uuid(subject))) }
        if let end = key.expiresAt { members.append(.init("exp", .int(end.wholeSeconds))) }
        if let id = key.externalID { members.append(.init("external_id", .string(id))) }
        if let attributes = key.attributes {
            members.append(.init("attributes", .object(attributes.members)))
        }
        return members
    }

    private static func facts(of token: ActiveToken) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("client_id", .string(token.client)), .init("aud", .string(token.client)),
            .init("tenant_id", .uuid(token.tenant)), .init("sub", .uuid(token.user)),
            .init("iat", .int(token.issuedAt.wholeSeconds)),
            .init("exp", .int(token.expiresAt.wholeSeconds)),
        ]
        if let email = token.email { members.append(.init("username", .string(email))) }
        if let id = token.externalID { members.append(.init("external_id", .string(id))) }
        members.append(.init("attributes", .object(token.attributes.members)))
        return members
    }

    private static let shape = ObjectShape(
        "Introspection",
        [
            .readOnly(
                "active", .bool,
                "Whether the API key or the app's token is valid now and the caller may verify it. "
                    + "If false, the response has no other member. A key's `allowed_ips` and "
                    + "`allowed_origins` are not checked."),
            .readOnly(
                "scope", .string(), always: false,
                "The API key's scopes, separated by spaces; absent for an app's token."),
            .readOnly(
                "client_id", .string(), always: false,
                "The id of the API key. For an app's token: the client, an app whose API this "
                    + "server implements, for example `immich`."),
            .readOnly(
                "username", .string(), always: false,
                "The email address of the user whom the app's token stands for; absent for an API "
                    + "key."),
            .readOnly("token_type", .string(), always: false, "Always `Bearer`."),
            .readOnly("iss", .string(), always: false, "The public URL of this server."),
            .readOnly(
                "aud", .string(), always: false,
                "The client that the app's token was issued for, for example `immich`; absent "
                    + "for an API key."),
            .readOnly(
                "sub", .uuid, always: false,
                "The id of the user whom the token stands for or who owns the API key. For a key "
                    + "of the tenant itself, it is the tenant's id; for a key of the platform, it "
                    + "is absent."),
            .readOnly(
                "tenant_id", .uuid, nullable: true, always: false,
                "The id of the tenant of the API key or of the token's user; `null` for a key of "
                    + "the platform."),
            .readOnly(
                "iat", .integer(0...Int.max), always: false,
                "When the app's token was issued, in seconds since 1970; absent for an API key."),
            .readOnly(
                "exp", .integer(0...Int.max), always: false,
                "When the API key or the token expires, in seconds since 1970; absent for a key "
                    + "that never expires."),
            .readOnly(
                "external_id", .string(), always: false,
                "The id of the user in the tenant's own system; absent if there is none."),
            .readOnly(
                "attributes", .attributes, always: false,
                "The user's public attributes; absent for an API key that no user owns."),
        ])
}

extension Timestamp {
    /// Seconds since 1970, as in RFC 7519.
    fileprivate var wholeSeconds: Int { Int(microseconds / 1_000_000) }
}
