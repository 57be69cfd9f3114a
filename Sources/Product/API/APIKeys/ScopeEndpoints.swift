import Domain
import HTTP
import JSON

/// `/v1/scopes`: the scopes of keys besides those of the tenant's catalogue.
enum ScopeEndpoints {
    static let all: [Endpoint] = [list]

    private static let list = Endpoint(
        .get, "/v1/scopes", id: "listScopes", tag: "API keys",
        summary: "The management scopes, each with the rights that it covers.",
        access: .open,
        answers: [
            .ok(ObjectShape("Scopes", [.readOnly("items", .array(of: .object(shape)))]))
        ]
    ) { _ in
        let items = ManagementScope.allCases.map { scope in
            JSONValue.object([
                .init("name", .string(scope.rawValue)),
                .init("summary", .string(scope.summary)),
                .init("admin_equivalent", .bool(scope.isAdminEquivalent)),
                .init("rights", .strings(scope.rights.map(\.rawValue))),
            ])
        }
        return .ok(.object([.init("items", .array(items))]))
    }

    private static let shape = ObjectShape(
        "Scope",
        [
            .readOnly("name", .string(), "As a key is issued with it: `users:read`."),
            .readOnly("summary", .string(), "What it gives."),
            .readOnly(
                "admin_equivalent", .bool,
                "It moves trust, and so leads to the rights of an admin: given by who covers one. But "
                    + "for `hooks:signup`, a key that is bound by addresses, origins or a rate is not "
                    + "made with it."),
            .readOnly("rights", .array(of: .string())),
        ])
}
