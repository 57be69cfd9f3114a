import Cryptography
import Domain
import HTTP
import Storage
import Text

/// `/v1/api-keys/verify`, and the same for many: is this key valid, and for what?
enum KeyVerificationEndpoints {
    static let all: [Endpoint] = [
        verify, verifyBatch, KeyIdentification.endpoint, IntrospectionEndpoint.endpoint,
    ]

    private static let verify = Endpoint(
        .post, "/v1/api-keys/verify", id: "verifyApiKey", tag: "API keys",
        summary: "Whether a key is good; `unknown` for every key that is not the caller's to ask.",
        access: .principal, body: .json(asked), answers: [.ok(verdictShape)]
    ) { call in
        let finding = try await KeyFinding.of(KeyQuestion(call.input), call)
        return .ok(finding)
    }

    /// Each key counts as one use, with the same verdict as alone.
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
            .readOnly(
                "retry_after", .integer(1...60), always: false,
                "Of a key over its limit per minute: the seconds until it is good again."),
            .readOnly("key_id", .uuid, always: false),
            .readOnly("tenant_id", .uuid, nullable: true, always: false),
            .readOnly("name", .string(), always: false),
            .readOnly(
                "environment", .enumeration(of: APIKeySecret.Environment.self), always: false),
            .readOnly(
                "owner",
                .object(
                    ObjectShape([
                        .readOnly("type", .enumeration(["user", "tenant", "platform"])),
                        .readOnly("id", .uuid, nullable: true),
                    ])), always: false),
            .readOnly("scopes", .array(of: .string()), always: false),
            .readOnly("expires_at", .timestamp, nullable: true, always: false),
            .readOnly(
                "external_id", .string(), always: false,
                "The id of its user in the tenant's own system."),
            .readOnly(
                "attributes", .attributes, always: false, "The public attributes of its user."),
        ])
}
