import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The user's API keys. They act as the user in this app and hold no right at `/v1`.
enum TimeTrackerKeys {
    /// The scope of this app's keys.
    private static let scope = "timetracker"
    /// Other scopes of the tenant's catalogue that let a key read for an app of the user.
    private static let reading = [scope, "app", "api:read"]

    /// The user, or the owner of a key of this app. 403 for a key with another purpose: a 401 would
    /// sign the app out.
    static func user(_ call: ClientCall) async throws -> UserRow {
        let caller = try await call.caller()
        if let key = caller.key,
            !key.scopes.contains(where: { own in reading.contains { sameBytes($0, own) } })
        {
            throw Problem.forbidden("The key lacks the scope \(reading.joined(separator: " or ")).")
        }
        guard let user = caller.user else {
            throw SignInRefusal.invalidKey("The key belongs to no user.")
        }
        return user
    }

    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api-keys") { try await create($0) },
        ContractRoute(.get, "/api-keys") { call in
            let keys = try await call.ownKeys(of: owner(call))
            let items = keys.map { row in
                JSONValue.object(
                    shown(row.key) + [
                        .init("createdAt", .string(row.key.createdAt.description)),
                        .init(
                            "lastUsedAt",
                            row.key.lastUsedAt.map { .string($0.description) } ?? .null),
                    ])
            }
            return .json(bytes: JSONValue.array(items).encoded())
        },
        ContractRoute(.delete, "/api-keys/{key}") { call in
            let user = try await owner(call)
            guard let id = UUID(try call.parameter("key")),
                try await call.ownKeys(of: user).contains(where: { $0.key.id == id })
            else { throw Problem(.notFound, "API key not found") }
            try await call.revokeKey(id, by: user, with: nil)
            return .noContent
        },
    ]

    private static func create(_ call: ClientCall) async throws -> Response {
        let user = try await owner(call)
        let name = DisplayText.named(try call.object().optionalString("name") ?? "")
        guard (1...255).contains(name.unicodeScalars.count) else {
            throw TimeTracker.bad("name must have 1 to 255 characters")
        }
        guard DisplayText.isName(name) else {
            throw TimeTracker.bad("name must have no control or invisible characters")
        }
        let (row, secret) = try await call.makeKey(
            name: name, scopes: [scope], owner: user, by: nil)
        return .json(
            201,
            bytes: JSONValue.object(
                shown(row.key) + [
                    .init("rawKey", .string(secret.text)),
                    .init("createdAt", .string(row.key.createdAt.description)),
                ]
            ).encoded())
    }

    private static func shown(_ key: APIKey) -> [JSONValue.Member] {
        [
            .init("id", .string(key.id.description)), .init("name", .string(key.name)),
            .init("prefix", .string(key.current.prefix)),
        ]
    }

    /// A key that could create keys would outlive its own revocation.
    private static func owner(_ call: ClientCall) async throws -> UserRow {
        guard case .person(let person) = try await call.caller() else {
            throw Problem.forbidden("API keys are managed in a signed-in session.")
        }
        return person.user
    }
}
