import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/session` and `/v1/me`: operators at the console.
enum SessionEndpoints {
    static let all: [Endpoint] = [signIn, current, signOut, me]

    private static let shape = ObjectShape(
        "ConsoleSession", [.readOnly("operator", .object(OperatorRow.shape))])

    private static let signIn = Endpoint(
        .post, "/v1/session", id: "signIn", tag: "Session",
        summary: "Signs an operator in, by password or by a one-time link's token.",
        access: .open,
        body: .json(
            ObjectShape(
                "SignIn",
                [
                    .optional("email", .string(min: 1, max: 320)),
                    .optional("password", .string(min: 1, max: 1024)),
                    .optional("token", .string(min: 1, max: 128)),
                    .optional(
                        "tenant", .string(min: 1, max: 63),
                        "Id or slug; for who is an operator of it with an address not confirmed."),
                ])),
        answers: [.created(shape)], problems: [.unauthorized, .tenantSuspended, .rateLimited]
    ) { call in
        let person = try await proved(call)
        try await checkTenant(of: person, call)
        let token = TokenSecret.make()
        guard let hash = TokenSecret.hash(token) else { throw Problem.internalError }
        try await call.services.database.startOperatorSession(
            person, tokenHash: hash, userAgent: call.request.first("user-agent"),
            by: actor(person, call))
        var answer = Response.created(
            .object([.init("operator", person.json)]), at: "/v1/session", etag: nil)
        answer.fields.append(SessionCookie.set(token, isTLS: call.request.isTLS))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    private static let current = Endpoint(
        .get, "/v1/session", id: "getSession", tag: "Session",
        summary: "The operator of the console's session.", access: .principal,
        answers: [.ok(shape)]
    ) { call in
        .ok(.object([.init("operator", try await signedIn(call).json)]))
    }

    private static let signOut = Endpoint(
        .delete, "/v1/session", id: "signOut", tag: "Session",
        summary: "Ends the console's session at once.", access: .principal,
        answers: [.noContent], problems: [.notFound]
    ) { call in
        guard let session = call.principal.session else { throw Problem.notFound("session") }
        try await call.services.database.endOperatorSession(
            session, of: signedIn(call), by: call.actor)
        var answer = Response.noContent
        answer.fields.append(SessionCookie.clear(isTLS: call.request.isTLS))
        answer.fields.append(Field("clear-site-data", "\"cache\", \"cookies\", \"storage\""))
        return answer
    }

    private static let me = Endpoint(
        .get, "/v1/me", id: "getMe", tag: "Session", summary: "Who the credential is.",
        access: .principal,
        query: [
            QueryParameter(
                "tenant", .string(min: 1, max: 63),
                "Of an operator: the tenant whose `join_requests` are counted, else the own one.")
        ],
        answers: [
            .ok(
                ObjectShape(
                    "Me",
                    [
                        .readOnly("principal", .enumeration(["operator", "user", "key"])),
                        .readOnly("operator", .object(OperatorRow.shape), nullable: true),
                        .readOnly("id", .uuid, nullable: true), .readOnly("name", .string()),
                        .readOnly("tenant_id", .uuid, nullable: true),
                        .readOnly("scopes", .array(of: .string())),
                        .readOnly(
                            "rights", .array(of: .string()),
                            "What it may do, be it with its own things alone."),
                        .readOnly(
                            "join_requests", .integer(0...Int(Int32.max)), nullable: true,
                            "How many people ask to join the tenant and wait."),
                    ]))
        ]
    ) { call in
        let who = call.principal
        let person = who.kind == .operator ? try await signedIn(call).json : .null
        return .ok(
            .object([
                .init("principal", .string(who.kind.rawValue)), .init("operator", person),
                .init("id", .uuid(who.id)), .init("name", .string(who.name)),
                .init("tenant_id", .uuid(who.tenant)),
                .init("scopes", .array(who.scopes.map(JSONValue.string))),
                .init("rights", .strings(Permissions.rights(call.principal.subject))),
                .init("join_requests", try await joinRequests(call).map { .int($0) } ?? .null),
            ]))
    }

    /// nil unless an operator may read the tenant's users; an unknown tenant looks the same.
    private static func joinRequests(_ call: Call) async throws -> Int? {
        guard call.principal.kind == .operator,
            let name = call.query.optionalString("tenant") ?? call.principal.tenant?.description,
            let database = try? call.services.database,
            let tenant = try await database.tenant(name),
            Permissions.permits(call.principal.subject, .readUsers, in: tenant.id) == .allowed
        else { return nil }
        return try await database.scope(tenant.id).waitingCount()
    }

    private static func signedIn(_ call: Call) async throws -> OperatorRow {
        guard call.principal.kind == .operator, let id = call.principal.id,
            let person = try await call.services.database.operatorRow(id)
        else { throw Problem.forbidden("This is for the console's operators.") }
        return person
    }

    private static func actor(_ person: OperatorRow, _ call: Call) -> Actor {
        Actor(
            type: "operator", id: person.id.description, name: person.name ?? person.email,
            requestID: call.request.id, ip: call.request.remoteAddress)
    }

    /// The operator of the given password or link. One text for every failure.
    private static func proved(_ call: Call) async throws -> OperatorRow {
        let database = try call.services.database
        let refused = Problem.unauthorized("The address and the password do not fit.")
        if let token = call.input.optionalString("token") {
            guard let hash = TokenSecret.hash(token),
                let person = try await database.consumeOperatorLink(hash),
                person.status != .suspended
            else { throw Problem.unauthorized("The link is used up or over; ask for a new one.") }
            try await SignInAttempt(
                email: person.email, address: call.request.remoteAddress, database: database,
                passwords: try call.services.passwords
            ).rememberNetwork(of: person)
            return person
        }
        var missing: [FieldError] = []
        for name in ["email", "password"] where !call.input.has(name) {
            missing.append(FieldError("/\(name)", .required, "is required without a token"))
        }
        guard missing.isEmpty else { throw Problem.invalid(missing) }
        let password = Array(try call.input.string("password").utf8)
        let attempt = SignInAttempt(
            email: try call.input.string("email"), address: call.request.remoteAddress,
            database: database, passwords: try call.services.passwords)
        return try await attempt.prove(password, in: call.input.optionalString("tenant"))
            ?? { throw refused }()
    }

    /// Refuses at once a session in a suspended tenant, which its first use would refuse.
    private static func checkTenant(of person: OperatorRow, _ call: Call) async throws {
        guard let tenant = person.tenant else { return }
        switch try await call.services.database.scope(tenant).tenantRow()?.status {
        case .active: return
        case .suspended:
            // An owner may return to resume what the tenant's own side suspended.
            guard person.role == .owner,
                try await call.services.database.scope(tenant).isSuspendedByItself()
            else { throw Problem(.tenantSuspended, "The tenant is suspended.") }
        default: throw Problem.unauthorized("The tenant is deleted.")
        }
    }
}
