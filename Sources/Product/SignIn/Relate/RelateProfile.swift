import API
import HTTP
import JSON
import Storage
import Text

/// The user's profile, which the app requests before it creates its key.
enum RelateProfile {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/profile") { call in
            .ok(profile(of: try await Relate.user(call, ["app", "api:read"]).user))
        },
        ContractRoute(.put, "/api/profile") { try await rename($0) },
    ]

    /// The display name; null or absent changes nothing, as in the app's own server.
    private static func rename(_ call: ClientCall) async throws -> Response {
        let user = try await Relate.user(call, ["app", "api:write"]).user
        let input = try call.object()
        let wanted = input["displayName"] ?? .null
        if wanted.isNull { return .ok(profile(of: user)) }
        let name = DisplayText.named(wanted.string ?? "")
        guard !name.isEmpty else {
            throw Relate.bad("DisplayName is required")
        }
        guard name.unicodeScalars.count <= 200 else {
            throw Relate.bad("DisplayName must be 200 characters or less")
        }
        guard DisplayText.isName(name) else {
            throw Relate.bad("DisplayName must have no control characters")
        }
        let renamed = try await call.scope.change(by: call.actor(user)) { change in
            let row = try await change.lockUser(user.id)
            return try await change.renameUser(row, name)
        }
        return .ok(profile(of: renamed))
    }

    private static func profile(of user: UserRow) -> JSONValue {
        .object([
            .init("id", .string(user.id.description)), .init("email", .string(user.email)),
            .init("displayName", user.name.map(JSONValue.string) ?? .null),
            .init("createdAt", .string(user.createdAt.description)),
            .init("lastLoginAt", user.lastSignInAt.map { .string($0.description) } ?? .null),
            .init("additionalAddresses", .array([])),
        ])
    }
}
