import Domain
import JSON
import Postgres
import Text

/// A user to insert, as checked by the caller.
struct NewUser: Sendable {
    var id = UUID.random()
    var email: String
    var emailKey: String
    var name: String?
    var role: UserRole
    var status: User.Status
    var source: User.Source
    var emailVerifiedAt: Timestamp?
    var lastSignInAt: Timestamp?
    var passwordHash: String?
    var externalID: String?
    var attributes = AttributePair()
    var isKept = false
}

extension Change {
    /// Inserts a user: the row, its search text, its directory entry and the audit event. False if
    /// another user of the tenant who is not deleted has the address or the external id.
    func insertUser(_ new: NewUser, _ database: Database) async throws -> Bool {
        let made = try await query(
            """
            INSERT INTO users (tenant_id, id, email, email_key, name, role, status, source,
                email_verified_at, last_sign_in_at, password_hash, password_changed_at,
                external_id, public_attributes, private_attributes, keep, created_at, updated_at)
            VALUES (\(tenant), \(new.id), \(new.email), \(new.emailKey), \(new.name), \(new.role),
                \(new.status), \(new.source), \(new.emailVerifiedAt), \(new.lastSignInAt),
                \(new.passwordHash), \(new.passwordHash.map { _ in now }), \(new.externalID),
                \(new.attributes.public.text), \(new.attributes.private.text), \(new.isKept),
                \(now), \(now))
            ON CONFLICT DO NOTHING RETURNING id
            """)
        guard made.count == 1 else { return false }
        try await putInSearch(new.id, emailKey: new.emailKey, name: new.name, createdAt: now)
        queryLater("SELECT directory_add_person(\(database.personKey(emailKey: new.emailKey)))")
        var changes = AuditChanges()
        changes.add("role", nil, new.role)
        changes.add("status", nil, new.status)
        changes.add("external_id", nil, new.externalID)
        if new.isKept { changes.add("keep", .bool(false), .bool(true)) }
        changes.add(AttributePair(), new.attributes)
        try await audit(.userCreated, AuditTarget("user", new.id, new.email), changes)
        return true
    }

    /// Replaces the search text of a user whose name or address changed.
    func putInSearch(
        _ user: UUID, emailKey: String, name: String?, createdAt: Timestamp
    ) async throws(PostgresError) {
        queryLater(
            "SELECT user_search_put(\(tenant), \(user), \(Self.searchText(emailKey, name)), \(createdAt))"
        )
    }

    /// The text that the search reads: the address's key and the name, in lower case.
    static func searchText(_ emailKey: String, _ name: String?) -> String {
        emailKey + " " + (name ?? "").lowercased()
    }
}
