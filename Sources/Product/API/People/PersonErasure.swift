import Domain
import HTTP
import JSON
import Storage
import Text

/// Erases a person from the tenants that a request names. The first request only asks for a
/// confirmation. The second request erases the users one by one, and its response contains a
/// certificate.
struct PersonErasure: Sendable {
    /// The `typ` in the header of an erasure certificate.
    static let certificateType = "gatehouse-erasure+jwt"

    /// One user of the request, as read before the erasure begins.
    private struct Target {
        let user: NamedUser
        let row: UserRow?
        /// The record of an earlier erasure of this user; `nil` if there is none.
        let erased: ErasedUser?
        /// Why this user cannot be erased, if that is known in advance.
        var problem: Problem?
    }

    private let call: Call
    private let database: Database
    private let session: UUID
    private let reason: String

    static func run(_ users: [NamedUser], _ call: Call) async throws -> Response {
        let erasure = PersonErasure(
            call: call, database: call.database,
            session: try recentSession(call), reason: try call.input.string("reason"))
        let targets = try await erasure.targets(users)
        let confirmation = erasure.database.erasureConfirmation(
            of: targets.compactMap { target in
                target.user.scope.map { ($0.tenant, target.user.id, target.row?.version) }
            }, session: erasure.session)
        guard let given = call.query.optionalString("confirm"), sameBytes(given, confirmation)
        else { throw try await erasure.question(targets, confirmation) }
        return try await erasure.erase(targets)
    }

    /// The console session of the calling operator. Throws for a caller without a session, because
    /// only an operator at the console may erase people.
    private static func recentSession(_ call: Call) throws -> UUID {
        guard let session = call.principal.session else { throw call.signInAgain("An erasure") }
        return session
    }

    private func targets(_ users: [NamedUser]) async throws -> [Target] {
        let own = try await ownRows()
        var targets: [Target] = []
        for user in users {
            let row = try await user.scope?.user(user.id)
            let erased = row == nil ? try await user.scope?.erasedUser(user.id) : nil
            var target = Target(user: user, row: row, erased: erased, problem: nil)
            if own.contains(where: { $0.tenant == user.scope?.tenant && $0.id == user.id }) {
                target.problem = .forbidden("This is your own account; another owner may erase it.")
            } else if row == nil, erased == nil {
                target.problem =
                    user.scope == nil ? .notFound("tenant") : try await user.missing()
            }
            targets.append(target)
        }
        let addresses = targets.compactMap(\.row?.emailKey)
        let words = reason.lowercased()
        if addresses.contains(where: { words.contains($0) }) {
            throw Problem.invalid([
                FieldError(
                    "/reason", .notAllowed, "contains the address, which would outlive the erasure")
            ])
        }
        return targets
    }

    /// The users, in all tenants, who have the same address as the calling operator.
    private func ownRows() async throws -> [FoundPerson] {
        guard let id = call.principal.id, let person = try await database.operatorRow(id),
            let email = try? EmailAddress(person.email)
        else { return [] }
        return try await database.people(email: email)
    }

    /// The 409 response to the first request: what would be removed, and the token that confirms
    /// exactly this.
    private func question(_ targets: [Target], _ confirmation: String) async throws -> Problem {
        var shown: [JSONValue] = []
        for target in targets where target.problem == nil {
            shown.append(
                .object([
                    .init("tenant", .string(target.user.tenantText)),
                    .init("id", .uuid(target.user.id)),
                    .init("held", try await held(target.row)),
                    .init("erased_at", .time(target.erased?.erasedAt)),
                ]))
        }
        let count = targets.count { $0.row != nil && $0.problem == nil }
        let refused = targets.filter { $0.problem != nil }.map {
            PersonResult(user: $0.user, problem: $0.problem).json
        }
        return Problem(
            .confirmRequired,
            "This cannot be undone: repeat the request with `confirm` to erase \(count) users.",
            members: [
                .init("confirm", .string(confirmation)), .init("users", .array(shown)),
                .init("refused", .array(refused)),
            ])
    }

    private func held(_ row: UserRow?) async throws -> JSONValue {
        guard let row else { return .object([]) }
        return try await database.scope(row.tenant).evidence(of: row).json
    }

    private func erase(_ targets: [Target]) async throws -> Response {
        var results: [PersonResult] = []
        var erased: [(user: NamedUser, what: ErasedUser)] = []
        for target in targets {
            let user = target.user
            if let problem = target.problem {
                results.append(PersonResult(user: user, problem: problem))
            } else if let what = target.erased {
                erased.append((user, what))
                results.append(PersonResult(user: user, problem: nil))
            } else if let version = target.row?.version {
                results.append(
                    try await user.result {
                        let what = try await user.changing(by: call) {
                            try await $0.eraseUser(user.id, version: version)
                        }
                        erased.append((user, what))
                    })
            }
        }
        var more: [JSONValue.Member] = []
        if !erased.isEmpty {
            more.append(.init("certificate", .string(try await certificate(erased))))
        }
        return .ok(PersonResult.document(.erase, results, more))
    }

    /// The signed certificate of an erasure. It contains only ids, numbers and times, and none of
    /// the erased data.
    private func certificate(
        _ erased: [(user: NamedUser, what: ErasedUser)]
    ) async throws -> String {
        let users = erased.map { _, one in
            JSONValue.object([
                .init("tenant_id", .uuid(one.tenant)), .init("user_id", .uuid(one.id)),
                .init("erased_at", .time(one.erasedAt)),
                .init("erased_by", .string(one.erasedBy)), .init("evidence", one.evidence),
            ])
        }
        let document = JSONValue.object([
            .init("iss", .string(call.application.publicURL)),
            .init("iat", .int(Int(call.now.microseconds / 1_000_000))),
            .init("jti", .uuid(UUID.random())),
            .init("sub", .string("erasure")),
            .init(
                "actor",
                .object([
                    .init("type", .string("operator")), .init("id", .uuid(call.principal.id)),
                ])),
            .init("request_id", .string(call.request.id)),
            .init("users", .array(users)),
            .init(
                "stays",
                .string(
                    "Of each user for 30 days: HMAC-SHA-256 values of the address and the sign-ins "
                        + "(tombstones), by which the tenant refuses the person. The audit log, "
                        + "decisions and mail states stay without address, name and words; revoked "
                        + "keys stay as ids. Backups keep their own time.")),
        ])
        return try await call.application.tokens.sign(document, type: Self.certificateType)
    }
}

/// The outcome of an erasure for one user of the request.
struct PersonResult: Sendable {
    let user: NamedUser
    let problem: Problem?

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("tenant", .string(user.tenantText)), .init("id", .uuid(user.id)),
            .init("result", .string(problem == nil ? "done" : "failed")),
        ]
        if let problem {
            members.append(.init("code", .string(problem.code.rawValue)))
            members.append(.init("detail", .string(problem.detail)))
            members += problem.members.filter { sameBytes($0.name, "conflicting_id") }
        }
        return .object(members)
    }

    static func document(
        _ action: PeopleAction, _ results: [PersonResult], _ more: [JSONValue.Member] = []
    ) -> JSONValue {
        .object(
            [
                .init("action", .string(action.rawValue)),
                .init("results", .array(results.map(\.json))),
            ] + more)
    }

    private static let shape = ObjectShape(
        "PersonResult",
        [
            .readOnly("tenant", .string(), "The tenant, as in the request."),
            .readOnly("id", .uuid, "The id of the user, as in the request."),
            .readOnly(
                "result", .enumeration(["done", "failed"]),
                "`done`: the action was performed. `failed`: it was not, see `code`."),
            .readOnly("code", .string(), always: false, "The reason why the action failed."),
            .readOnly(
                "detail", .string(), always: false, "The same reason, for people to read."),
            .readOnly(
                "conflicting_id", .uuid, always: false,
                "If the user was merged into another user: the id of that other user."),
        ])

    static let answer = ObjectShape(
        "PeopleResult",
        [
            .readOnly(
                "action", .enumeration(of: PeopleAction.self), "The action that was performed."),
            .readOnly(
                "results", .array(of: .object(shape)),
                "One result for each user of the request, in the same order."),
            .readOnly(
                "certificate", .string(max: 1 << 20), always: false,
                "For an erasure: the certificate, a JWS (ES256) that is signed with a key of "
                    + "`/.well-known/jwks.json`. The certificate states what was removed in each "
                    + "tenant. It is stored only as the response to an `Idempotency-Key`."),
            .readOnly(
                "exported_at", .timestamp, always: false,
                "For an export: when the export was made."),
            .readOnly(
                "people", .array(of: .any), always: false,
                "For an export: the rows of each user, by table."),
            .readOnly(
                "platform", .any, always: false,
                "For an export: rows about these users that belong to no tenant, by table."),
        ])
}
