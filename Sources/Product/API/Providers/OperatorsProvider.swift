import Domain
import Storage

/// Guards the provider at which operators sign in: who edits its keys could sign in as any of them.
enum OperatorsProvider {
    /// Throws 403 for callers who may not change operators.
    static func requireKeeper(of row: ProviderRow, _ call: Call) async throws {
        guard
            Permissions.permits(call.principal.subject, .writeOperators, in: nil) != .allowed,
            try await isSet(row, call)
        else { return }
        throw Problem.forbidden(
            "Operators sign in at this provider: who may change operators may change it.")
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
