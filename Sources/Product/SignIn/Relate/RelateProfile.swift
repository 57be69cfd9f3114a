import API
import HTTP
import JSON
import Storage
import Text

/// The person, whom the app asks for before it makes its key.
enum RelateProfile {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/profile") { call in
            let user = try await Relate.user(call, ["app", "api:read"]).user
            return .ok(
                .object([
                    .init("id", .string(user.id.description)), .init("email", .string(user.email)),
                    .init("displayName", user.name.map(JSONValue.string) ?? .null),
                    .init("createdAt", .string(user.createdAt.description)),
                    .init(
                        "lastLoginAt", user.lastSignInAt.map { .string($0.description) } ?? .null),
                    .init("additionalAddresses", .array([])),
                ]))
        },
        .absent(.put, "/api/profile"),
    ]
}
