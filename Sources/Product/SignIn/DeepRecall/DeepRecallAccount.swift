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
        // The released app asks before the sign-in, so the response has no secret.
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

    /// A short-lived token for the service that replicates the user's data; it grants nothing here.
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
        let token = try await call.core.tokens.sign(
            .object([
                .init("iss", .string(call.core.publicURL)),
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
