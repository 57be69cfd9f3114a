import Domain
import Storage
import Text

/// Who invites, and where: of a request, or of a job that makes its invites later.
struct Inviting {
    var principal: Principal
    var tenant: UUID
    var services: Services
    var now: Timestamp
    /// The addresses that `return_to` may have.
    var returns: [String]
}

extension Call {
    /// Of a request with these invites.
    func inviting(_ inputs: [Input]) async throws -> Inviting {
        let tenant = try tenant.id
        return Inviting(
            principal: principal.subject, tenant: tenant, services: services, now: now,
            returns: try await ReturnAddress.allowed(inputs, of: tenant, services))
    }
}
