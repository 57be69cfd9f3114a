import Domain
import Storage

/// Guards the provider at which operators sign in: who edits its keys could sign in as any of them.
enum OperatorsProvider {
    /// Throws 403 for callers who may not make owners, as each account there could become one.
    static func requireKeeper(_ call: Call) throws {
        guard Permissions.mayGrant(call.principal.subject, .owner, in: nil) else {
            throw Problem.forbidden(
                "Where operators sign in is changed by who may make owners of the platform.")
        }
    }

    /// The same, if operators sign in there. The provider's row is locked.
    static func requireKeeper(of row: ProviderRow, _ call: Call) async throws {
        if try await isSet(row, call) { try requireKeeper(call) }
    }

    /// Throws 409 while operators sign in there.
    static func requireUnused(_ row: ProviderRow, _ call: Call) async throws {
        guard try await isSet(row, call) else { return }
        throw Problem(
            .conflict,
            "Operators sign in at this provider; end that first (`/v1/operator-sign-in`).",
            status: 409)
    }

    private static func isSet(_ row: ProviderRow, _ call: Call) async throws -> Bool {
        try await call.services.database.operatorSignIn()?.provider == row.id
    }
}
