import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/cors/evaluate`: returns what the CORS policy would respond to a described request, field by
/// field.
enum CORSEvaluation {
    private static let headers = Kind.map(of: .string(max: 1024))

    private static let question = ObjectShape(
        "CorsQuestion",
        [
            .nullable(
                "tenant", .string(min: 1, max: 63),
                "The tenant, by id or slug, whose allow list applies with the platform's. If "
                    + "absent, the tenant in `path`, or else that of the credential. Without any, "
                    + "or for a `path` of the platform, only the platform's list applies."),
            .nullable(
                "path", .string(min: 1, max: 2048),
                "The path of the request, which decides the methods and header fields that are "
                    + "allowed. If absent, that of the tenant's list of users, or `/` without a "
                    + "tenant."),
            FieldShape(
                "origin", .string(max: 2048), required: true,
                "The origin of the page, as the browser sends it.",
                example: .string("https://app.example.com")),
            FieldShape(
                "method", .enumeration(of: HTTP.Method.self), required: true,
                "The method of the request that the page wants to make.",
                example: .string("POST")),
            FieldShape(
                "request_headers", .any,
                "The names of the request's header fields, as a list or as one text with commas.",
                example: .array([.string("authorization")])
            ).typed("array", "string", "null"),
            FieldShape(
                "credentials", .bool, nullable: true, "Whether the request carries a cookie."),
        ])

    private static let answer = ObjectShape(
        "CorsAnswer",
        [
            .readOnly(
                "allowed", .bool,
                "Whether the browser lets the page read the response. For this, both the preflight "
                    + "and the request itself must be allowed."),
            .readOnly(
                "rule", .string(),
                "What the origin matches: `exact` or `wildcard` for an entry of an allow list, "
                    + "`dev_origins` for the tenant's setting, `own` for an origin of this server, "
                    + "`public` for a document that every origin may read, or `none`. `absent` "
                    + "means that no origin was given."),
            .readOnly(
                "reason", .string(),
                "Why the request is allowed, for example `listed`, or refused, for example "
                    + "`origin_not_listed`, `method_not_allowed` or `header_not_allowed`. If only "
                    + "the preflight is refused, it is the preflight's reason."),
            .readOnly(
                "preflight",
                .object(
                    ObjectShape([
                        .readOnly(
                            "status", .integer(200...599), "The HTTP status of the answer."),
                        .readOnly(
                            "headers", headers,
                            "The header fields that the CORS policy adds to the answer, by name."),
                    ])),
                "The answer to the preflight, with which a browser asks before some requests "
                    + "whether it may send them."),
            .readOnly(
                "response",
                .object(
                    ObjectShape([
                        .readOnly(
                            "status", .integer(200...599), nullable: true,
                            "The HTTP status of the answer; `null` if the endpoint decides it."),
                        .readOnly(
                            "headers", headers,
                            "The header fields that the CORS policy adds to the answer, by name."),
                    ])),
                "The answer to the request itself."),
        ])

    static let endpoint = Endpoint(
        .post, "/v1/cors/evaluate", id: "evaluateCors", tag: "CORS origins",
        summary: "Returns how Gatehouse would answer a browser's request from an origin.",
        access: .right(.evaluateOrigins), body: .json(question), answers: [.ok(answer)],
        problems: [.notFound]
    ) { call in
        let names = try requestHeaders(call.input["request_headers"])
        let (path, holder) = try await target(call)
        let origin = Array(try call.input.string("origin").utf8)
        let method = try call.input.string("method")
        let routeMethods = call.application.documentedRoutes?.match(path).map {
            $0.allowed.map(\.rawValue)
        }
        let client = CORSScope.client(of: path)
        let profile = call.application.clients.first { $0.name == client }?.profile ?? .management
        let enforcer = call.application.origins
        let asked = CORSRequest(
            origins: [origin], method: method, routeMethods: routeMethods,
            carriesCookie: call.input.flag("credentials"), profile: profile)
        let before = CORSRequest(
            origins: [origin], method: "OPTIONS", requestMethod: method,
            requestHeaders: names, routeMethods: routeMethods, profile: profile)
        let isPublic = CORSScope(path: path) == .publicDocument
        let actual =
            isPublic ? CORSPolicy.publicDocument(asked) : try await enforcer.decide(asked, holder)
        let preflight =
            isPublic ? CORSPolicy.publicDocument(before) : try await enforcer.decide(before, holder)
        return .ok(json(actual, preflight))
    }

    /// The path of the described request, and the owner of the allow lists that apply to it. Throws
    /// 404 if a tenant's credential asks about another tenant, or if the tenant is unknown.
    private static func target(_ call: Call) async throws -> (String, Database.CORSOwner) {
        let given = call.input.optionalString("path")
        var name = call.input.optionalString("tenant")
        if let given, case .tenant(let inPath) = CORSScope(path: given) { name = name ?? inPath }
        if name == nil, let own = call.principal.tenant { name = own.description }
        guard let name else { return (given ?? "/", .platform) }
        let found = try await call.database.tenant(name)
        if let home = call.principal.tenant, found?.id != home { throw Problem.notFound("tenant") }
        guard let found else { throw Problem.notFound("tenant") }
        let path = given ?? "/v1/tenants/\(found.slug)/users"
        if CORSScope(path: path) == .platform { return (path, .platform) }
        return (path, .tenant(found.id.description))
    }

    private static func requestHeaders(_ value: JSONValue?) throws -> String? {
        switch value {
        case nil, .null: return nil
        case .string(let text): return text
        case .array(let items):
            let names = items.compactMap(\.string)
            if names.count == items.count { return names.joined(separator: ",") }
        default: break
        }
        throw Problem.invalid([
            FieldError(
                "/request_headers", .wrongType,
                "must be a list of names, or one text with commas")
        ])
    }

    private static func json(_ actual: CORSDecision, _ preflight: CORSDecision) -> JSONValue {
        // A browser lets the page read the response only if the preflight and the request itself
        // are both allowed. If one of the two is refused, it supplies the reason.
        let telling = actual.allowed ? preflight : actual
        return .object([
            .init("allowed", .bool(actual.allowed && preflight.allowed)),
            .init("rule", .string(telling.rule.rawValue)),
            .init("reason", .string(telling.reason.rawValue)),
            .init(
                "preflight",
                .object([
                    .init("status", .int(preflight.status ?? 204)),
                    .init("headers", fields(preflight)),
                ])),
            .init(
                "response",
                .object([
                    .init("status", actual.status.map { .int($0) } ?? .null),
                    .init("headers", fields(actual)),
                ])),
        ])
    }

    private static func fields(_ decision: CORSDecision) -> JSONValue {
        .object(decision.headers.map { JSONValue.Member($0.name, .string($0.value)) })
    }
}

/// Which allow lists apply to a path.
enum CORSScope: Sendable, Equatable {
    /// The path belongs to the tenant with this id or slug. The tenant's list and the platform's
    /// list apply.
    case tenant(String)
    /// The path is one of the few that name no tenant and apply to the tenant of the request's
    /// credential.
    case credential
    /// The path is any other path. Only the platform's list applies.
    case platform
    /// The path leads to a public document, which pages of any origin may read.
    case publicDocument

    init(path: String) {
        if ["/openapi.json", "/.well-known/jwks.json"].contains(where: { sameBytes($0, path) }) {
            self = .publicDocument
            return
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if parts.count > 3, sameBytes(parts[1], "v1"), sameBytes(parts[2], "tenants"),
            !parts[3].isEmpty
        {
            self = .tenant(parts[3])
        } else if parts.count > 2, sameBytes(parts[1], "t"), !parts[2].isEmpty {
            self = .tenant(parts[2])
        } else if Self.learnsTenant(path) {
            self = .credential
        } else {
            self = .platform
        }
    }

    private static func learnsTenant(_ path: String) -> Bool {
        let exact = ["/v1/api-keys/verify", "/v1/api-keys/verify-batch", "/v1/me"]
        return exact.contains { sameBytes($0, path) }
            || sameBytes(path, "/v1/provisioning/sign-in")
            || path.utf8.starts(with: "/v1/join-links/".utf8)
            || path.utf8.starts(with: "/v1/invites/".utf8)
            || path.utf8.starts(with: "/oauth/".utf8)
    }

    /// The client contract of a path; `nil` if there is none.
    static func client(of path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 3, sameBytes(String(parts[1]), "t") else { return nil }
        return String(parts[3])
    }

    /// The owner of the allow lists to query. `locator` returns the locator of the request's
    /// credential or token, which identifies the tenant.
    func holder(isPreflight: Bool, locator: @autoclosure () -> String?) -> Database.CORSOwner {
        switch self {
        case .tenant(let text): .tenant(text)
        case .platform, .publicDocument: .platform
        case .credential: isPreflight ? .anyone : locator().map { .locator($0) } ?? .platform
        }
    }
}

/// Requires a confirmation before a request removes its own origin from an allow list. Without it,
/// the app that sends the request could lock itself out by mistake.
struct CORSLockOut {
    static let parameter = QueryParameter(
        "confirm", .string(min: 1, max: 128),
        "Needed only if the request removes the origin that it is sent from: the `confirm` value "
            + "of the 409 response (`confirm_required`).")

    var call: Call

    /// Throws 409 with a confirmation token for these rows if they include the request's origin.
    /// Does not throw if the request already contains this token.
    func check(removing rows: [CORSOriginRow]) throws {
        guard let sent = call.request.first("origin") else { return }
        let bytes = Array(sent.utf8)
        let own = rows.filter { row in
            (try? Origin(configuring: row.origin)).map { $0.matches(bytes) } ?? false
        }
        guard !own.isEmpty else { return }
        let token = try token(for: own)
        if let given = call.query.optionalString("confirm"), sameBytes(given, token) { return }
        throw Problem(
            .confirmRequired,
            "This request's own origin is allowed by \(own[0].origin); repeat it with `confirm` to "
                + "remove that entry.",
            members: [JSONValue.Member("confirm", .string(token))])
    }

    private func token(for rows: [CORSOriginRow]) throws -> String {
        let ids = rows.map(\.id.description).sorted().joined(separator: " ")
        let text = "cors confirm\0\(call.principal.id?.description ?? "")\0\(ids)"
        let mac = SHA256.authenticate(
            Array(text.utf8), key: call.database.directoryKey)
        return Base64URL.encode(mac.prefix(18))
    }
}
