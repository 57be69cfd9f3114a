import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// What the app asks about the user after the sign-in.
enum DeepRecallAccount {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/replication/token") { try await replicationToken($0) },
        ContractRoute(.get, "/api/user/status") { call in
            let user = try await call.signedIn().user
            let count = user.identities.count
            return .ok(
                .object([
                    .init("identityCount", .int(count)), .init("isNew", .bool(count == 0)),
                    .init("worksCount", .int(0)), .init("assetsCount", .int(0)),
                    .init("annotationsCount", .int(0)),
                ]))
        },
        ContractRoute(.get, "/api/profile") { call in
            .ok(profile(try await call.signedIn().user))
        },
        ContractRoute(.patch, "/api/profile") { try await update($0) },
        // The released app asks this before the sign-in, so the response contains no secret.
        ContractRoute(.get, "/api/config", isPublic: true) { call in
            .ok(
                .object([
                    .init("electricUrl", call.setting("replication_url") ?? .string("")),
                    .init("electricSourceId", call.setting("replication_source") ?? .string("")),
                    .init("electricSecret", .string("")),
                ]))
        },
    ]

    private static let replicationSeconds = 900

    /// Returns a short-lived token for the service that replicates the user's data; it is valid
    /// only there.
    private static func replicationToken(_ call: ClientCall) async throws -> Response {
        let missing = Problem(.unauthorized, "Missing or invalid Authorization header")
        let parts = (call.request.first("authorization") ?? "").utf8.split(separator: 0x20)
        guard parts.count == 2,
            sameBytesIgnoringASCIICase(String(decoding: parts[0], as: UTF8.self), "bearer")
        else { throw missing }
        let person: SignedIn
        do {
            person = try await call.signedIn()
        } catch SignInRefusal.invalidToken {
            throw Problem(.unauthorized, "JWT expired")
        }
        let issued = Int(call.now.microseconds / 1_000_000)
        let user = JSONValue.string(person.user.id.description)
        let token = try await call.application.tokens.sign(
            .object([
                .init("iss", .string(call.application.publicURL)),
                .init("aud", .string(call.setting("replication_audience")?.string ?? "electric")),
                .init("sub", user), .init("userId", user),
                .init("deviceId", .string(person.session.device ?? "")),
                .init("iat", .int(issued)), .init("exp", .int(issued + replicationSeconds)),
            ]), type: "JWT")
        return .ok(
            .object([
                .init("electric_token", .string(token)),
                .init("expires_in", .int(replicationSeconds)),
            ]))
    }

    private static func update(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let person = try await call.signedIn()
        guard let name = DeepRecall.text(input, "displayName") else {
            throw DeepRecall.bad("No fields to update")
        }
        guard name.unicodeScalars.count <= 200 else {
            throw DeepRecall.bad("displayName must be 200 characters or less")
        }
        let user = try await call.scope.change(by: call.actor(person.user)) { change in
            let row = try await change.lockUser(person.user.id)
            return try await change.renameUser(row, name)
        }
        return .ok(profile(user))
    }

    private static func profile(_ user: UserRow) -> JSONValue {
        let identities = user.identities.map { identity in
            JSONValue.object([
                .init("id", .string(identity.id.description)),
                .init("provider", .string(identity.provider)),
                .init("providerUserId", .string(identity.subject)),
                .init("email", identity.email.map(JSONValue.string) ?? .null),
                .init("displayName", user.name.map(JSONValue.string) ?? .null),
                .init("avatarUrl", .null),
                .init("createdAt", .string(identity.createdAt.description)),
            ])
        }
        return .object([
            .init("user", json(user)), .init("linkedIdentities", .array(identities)),
        ])
    }

    private static func json(_ user: UserRow) -> JSONValue {
        .object([
            .init("id", .string(user.id.description)), .init("email", .string(user.email)),
            .init("displayName", user.name.map(JSONValue.string) ?? .null),
            .init("avatarUrl", .null),
            .init("createdAt", .string(user.createdAt.description)),
            .init("updatedAt", .string(user.updatedAt.description)),
        ])
    }
}

/// Links a second account at a provider to the signed-in user. The request proves both the account
/// and the user. Equal addresses alone would not prove that both belong to one person.
enum DeepRecallLinks {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, path) { try await link($0) },
        ContractRoute(.delete, path) { try await unlink($0) },
    ]

    private static let path = "/api/profile/link/{provider}"

    /// Adds the account. The request may have an operator's link grant instead of a session,
    /// because the user may be unable to sign in.
    private static func link(_ call: ClientCall) async throws -> Response {
        // A request without a grant needs a session. This is checked before anything else.
        let grant = (try? call.object()).flatMap { DeepRecall.text($0, "link_grant") }
        let user = grant == nil ? try await call.signedIn().user : nil
        let kind = try kind(call)
        let input = try call.object()
        let name = kind == .google ? "id_token" : "access_token"
        guard let token = DeepRecall.text(input, name) else {
            throw DeepRecall.bad("Missing \(name)")
        }
        let person =
            kind == .google
            ? try await call.person(idToken: token, kind: .google)
            : try await call.person(gitHubToken: token)
        switch try await add(person, to: user, by: grant, call) {
        case .linked: break
        case .again: return .ok(told("already_linked", "This account is already linked"))
        case .conflict:
            return .json(
                409, bytes: told("conflict", "This account is linked to another user").encoded())
        case .unknown, .used, .over, .refused:
            throw DeepRecall.bad("The link grant is not valid, or is no longer valid")
        }
        return .ok(
            told(
                "linked", "\(kind.rawValue) account linked successfully",
                .init(
                    "identity",
                    .object([
                        .init("provider", .string(kind.rawValue)),
                        .init("email", person.email.map(JSONValue.string) ?? .null),
                        .init("displayName", person.name.map(JSONValue.string) ?? .null),
                    ]))))
    }

    private static func add(
        _ person: ProvedPerson, to user: UserRow?, by grant: String?, _ call: ClientCall
    ) async throws -> GrantUse {
        if let grant { return try await call.useLinkGrant(grant, for: person) }
        guard let user else { throw SignInRefusal.noCredential }
        do {
            try await call.link(person, to: user)
        } catch let StorageFailure.conflict(_, _, holder) {
            return holder == user.id ? .again(user) : .conflict
        }
        return .linked(user)
    }

    /// Unlinks the account, and ends all sessions of the user, including this one, since some may
    /// have begun with that account.
    private static func unlink(_ call: ClientCall) async throws -> Response {
        let user = try await call.signedIn().user
        let kind = try kind(call)
        try await call.scope.change(by: call.actor(user)) { change in
            let row = try await change.lockUser(user.id)
            guard row.identities.count > 1 else {
                throw DeepRecall.bad("Cannot unlink last identity")
            }
            let fitting = row.identities.filter { sameBytes($0.provider, kind.rawValue) }
            guard !fitting.isEmpty else { throw Problem(.notFound, "Identity not found") }
            guard fitting.count < row.identities.count else {
                throw DeepRecall.bad("Cannot unlink last identity")
            }
            for identity in fitting {
                try await change.unlinkIdentity(
                    row, identity.id, isBarred: false)
            }
        }
        return .ok(told("unlinked", "\(kind.rawValue) account unlinked"))
    }

    private static func kind(_ call: ClientCall) throws -> ProviderKind {
        let name = try call.parameter("provider")
        guard let kind = ProviderKind(rawValue: name), [.google, .github].contains(kind) else {
            throw DeepRecall.bad("Invalid provider")
        }
        return kind
    }

    private static func told(
        _ status: String, _ message: String, _ more: JSONValue.Member...
    ) -> JSONValue {
        .object([.init("status", .string(status)), .init("message", .string(message))] + more)
    }
}
