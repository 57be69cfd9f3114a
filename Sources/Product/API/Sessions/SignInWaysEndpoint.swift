import Domain
import HTTP
import JSON
import Storage

/// `GET /v1/session/ways`: what the page for signing in offers, the same for everyone.
enum SignInWaysEndpoint {
    static let ways = Endpoint(
        .get, "/v1/session/ways", id: "getSignInWays", tag: "Session",
        summary: "What a sign-in to the console may be proved by here by anyone.",
        access: .open,
        answers: [
            .ok(
                ObjectShape(
                    "SignInWays",
                    [
                        .readOnly(
                            "set_up", .bool, "Whether the service has an owner to sign in."),
                        .readOnly("passkeys", .bool, "Whether browsers offer passkeys here."),
                        .readOnly(
                            "passkeys_fault", .string(), nullable: true, "Why they do not."),
                        .readOnly(
                            "provider",
                            .object(
                                ObjectShape(
                                    "SignInProvider",
                                    [
                                        .readOnly("name", .string()),
                                        .readOnly("kind", .enumeration(of: ProviderKind.self)),
                                    ])), nullable: true, "Where operators sign in as well."),
                    ]))
        ]
    ) { call in
        let fault = try call.passkeyFault
        let database = try call.services.database
        var provider: ProviderRow?
        if let setting = try await database.operatorSignIn() {
            provider = try await database.provider(setting.provider, owner: nil)
        }
        return .ok(
            .object([
                .init("set_up", .bool(try await database.hasOperator())),
                .init("passkeys", .bool(fault == nil)),
                .init("passkeys_fault", fault.map(JSONValue.string) ?? .null),
                .init(
                    "provider",
                    provider.map {
                        .object([.init("name", .string($0.name)), .init("kind", .string($0.kind))])
                    } ?? .null),
            ]))
    }
}
