import Domain
import Postgres
import Text

/// One user whom a search over all tenants found.
package struct FoundPerson: Sendable {
    /// By what the user was found.
    package enum Way: String, Sendable, CaseIterable {
        case address
        case formerAddress = "former_address"
        case identity
        case invite
    }

    package let tenant: UUID
    package let tenantSlug: String
    package let tenantName: String
    package let tenantStatus: String
    package let id: UUID
    package let email: String
    package let name: String?
    package let status: User.Status
    package let role: UserRole
    package let createdAt: Timestamp
    package let lastSignInAt: Timestamp?
    package let ways: [String]

    init(_ row: Row) throws(PostgresError) {
        let text: String
        (
            tenant, tenantSlug, tenantName, tenantStatus, id, email, name, status, role, createdAt,
            lastSignInAt, text
        ) = try row.columns()
        ways = text.split(separator: ",").map(String.init)
    }
}
