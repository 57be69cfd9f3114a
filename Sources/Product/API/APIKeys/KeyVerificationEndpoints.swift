import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/api-keys/verify`, the same for many, and `/oauth/introspect`: is this key good, and for what?
enum KeyVerificationEndpoints {
    static let all: [Endpoint] = [verify, verifyBatch, introspect]

    private static let verify = Endpoint(
        .post, "/v1/api-keys/verify", id: "verifyApiKey", tag: "API keys",
        summary: "Whether a key is good; `unknown` for every key that is not the caller's to ask.",
        access: .principal, body: .json(asked), answers: [.ok(verdictShape)]
    ) { call in
        let finding = try await KeyFinding.of(KeyQuestion(call.input), call)
        return .ok(finding)
    }

    /// Each key is one use of it, and its verdict is what it would be alone.
    private static let verifyBatch = Endpoint(
        .post, "/v1/api-keys/verify-batch", id: "verifyApiKeys", tag: "API keys",
        summary: "The same for up to 1,000 keys; the verdicts come in the order of the keys.",
        access: .principal,
        body: .json(
            ObjectShape(
                "APIKeyVerifications",
                [.required("keys", .array(of: .object(asked), max: 1000))])),
        answers: [
            .ok(
                ObjectShape(
                    "APIKeyVerdicts",
                    [.readOnly("results", .array(of: .object(verdictShape), max: 1000))]))
        ],
        maxBody: 1 << 20
    ) { call in
        let questions = try call.input.objects("keys").map { try KeyQuestion($0) }
        let findings = try await KeyFinding.of(questions, call)
        return .ok(KeyFindings(results: findings))
    }

    private static let asked = ObjectShape(
        "APIKeyVerification",
        [
            .required("key", .string(max: 1024)),
            .optional("scopes", .array(of: .string(min: 1, max: 100), max: 100)),
            .nullable("ip", .string(max: 50, rule: address)),
            .nullable("origin", .string(max: 300)),
        ])

    private static let address = TextRule(detail: "must be an IP address", example: "192.0.2.1") {
        IPAddress($0) != nil
    }

    private static let verdictShape = ObjectShape(
        "APIKeyVerdict",
        [
            .readOnly("valid", .bool),
            .readOnly(
                "code",
                .enumeration(APIKeyVerdict.allCases.filter { $0 != .valid }.map(\.rawValue)),
                always: false),
            .readOnly("key_id", .uuid, always: false),
            .readOnly("tenant_id", .uuid, nullable: true, always: false),
            .readOnly("name", .string(), always: false),
            .readOnly("environment", .enumeration(["live", "test"]), always: false),
            .readOnly(
                "owner",
                .object(
                    ObjectShape([
                        .readOnly("type", .enumeration(["user", "tenant", "platform"])),
                        .readOnly("id", .uuid, nullable: true),
                    ])), always: false),
            .readOnly("scopes", .array(of: .string()), always: false),
            .readOnly("expires_at", .timestamp, nullable: true, always: false),
        ])

    private static let introspect = Endpoint(
        .post, "/oauth/introspect", id: "introspect", tag: "API keys",
        summary: "The same facts by RFC 7662.", access: .principal,
        body: .raw(["application/x-www-form-urlencoded"]),
        answers: [.ok(introspectionShape)]
    ) { call in
        guard let form = String(validating: call.request.body, as: UTF8.self) else {
            throw Problem(.invalidRequest, "The form is not UTF-8.")
        }
        // Parameters that are not known are ignored (RFC 6749 §3.2).
        let (fields, errors) = decodeQuery(
            form, [QueryParameter("token", .string(min: 1, max: 1024), required: true)])
        guard errors.allSatisfy({ $0.code == .unknown }),
            let token = fields.optionalString("token")
        else { throw Problem(.invalidRequest, "The form needs one `token`.") }
        let finding = try await KeyFinding.of(KeyQuestion(token), call)
        // Where a token is used from is the asking server's to check: it is not known here.
        let isActive = [.valid, .ipNotAllowed, .originNotAllowed].contains(finding.verdict)
        guard isActive, let key = finding.key else {
            return .ok(.object([.init("active", .bool(false))]))
        }
        var members: [JSONValue.Member] = [
            .init("active", .bool(true)),
            .init("scope", .string(key.scopes.joined(separator: " "))),
            .init("client_id", .uuid(key.id)), .init("token_type", .string("Bearer")),
            .init("iss", .string(call.services.publicURL)),
            .init("tenant_id", .uuid(key.home)),
        ]
        if let subject = key.ownerUser ?? key.home { members.append(.init("sub", .uuid(subject))) }
        if let end = key.expiresAt {
            members.append(.init("exp", .int(Int(end.microseconds / 1_000_000))))
        }
        return .ok(.object(members))
    }

    private static let introspectionShape = ObjectShape(
        "Introspection",
        [
            .readOnly("active", .bool), .readOnly("scope", .string(), always: false),
            .readOnly("client_id", .uuid, always: false),
            .readOnly("token_type", .string(), always: false),
            .readOnly("iss", .string(), always: false), .readOnly("sub", .uuid, always: false),
            .readOnly("tenant_id", .uuid, nullable: true, always: false),
            .readOnly("exp", .integer(0...Int.max), always: false),
        ])
}
