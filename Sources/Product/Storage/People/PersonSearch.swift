import Domain
import Postgres
import Text

/// One user whom a search over all tenants found.
package struct FoundPerson: Sendable {
    /// How the user was found.
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

/// Finds a person across all tenants. The directory says which tenants know the address or the
/// identity, and only those tenants are read.
extension Database {
    /// The maximum number of rows of one search.
    package static let foundPeopleLimit = 200
    /// The maximum number of tenants that one search reads.
    private static let tenantsOfPersonLimit = 1000

    /// Users who have the address, had it before, have an identity for which a trusted provider
    /// reported it, or were invited at it. If there are more than `foundPeopleLimit`, returns one
    /// user more than this limit.
    package func people(email: EmailAddress) async throws -> [FoundPerson] {
        let tenants = try await tenants(of: personKey(emailKey: email.key))
        return try await people(
            in: tenants,
            """
            SELECT u.tenant_id, u.id AS user_id, 'address' AS way FROM users u
            WHERE u.tenant_id = ANY (\(tenants)) AND u.email_key = \(email.key)
            UNION SELECT f.tenant_id, f.user_id, 'former_address' FROM former_addresses f
            WHERE f.tenant_id = ANY (\(tenants)) AND f.email_key = \(email.key)
            UNION SELECT i.tenant_id, i.user_id, 'identity' FROM identities i
            WHERE i.tenant_id = ANY (\(tenants)) AND i.email_vouched
                AND i.email = ANY (\([email.key, email.original]))
            UNION SELECT v.tenant_id, coalesce(v.accepted_user_id, v.user_id), 'invite'
            FROM invites v WHERE v.tenant_id = ANY (\(tenants)) AND v.email_key = \(email.key)
            UNION SELECT u.tenant_id, u.id, 'invite' FROM invites v
            JOIN users u ON u.tenant_id = v.tenant_id AND u.email_key = v.email_key
            WHERE v.tenant_id = ANY (\(tenants)) AND u.tenant_id = ANY (\(tenants))
                AND v.email_key = \(email.key) AND v.status = 'pending'
            """)
    }

    /// Users who have the identity, and users who had it before an operator unlinked it.
    package func people(identity: IdentityKey) async throws -> [FoundPerson] {
        let provider = identity.provider.rawValue
        let tenants = try await tenants(
            of: personKey(
                provider: provider, issuer: identity.issuer, subject: identity.subject))
        return try await people(
            in: tenants,
            """
            SELECT i.tenant_id, i.user_id, 'identity' AS way FROM identities i
            WHERE i.tenant_id = ANY (\(tenants)) AND i.provider = \(provider)
                AND i.issuer = \(identity.issuer) AND i.subject = \(identity.subject)
            UNION SELECT b.tenant_id, b.user_id, 'identity' FROM barred_identities b
            WHERE b.tenant_id = ANY (\(tenants)) AND b.provider = \(provider)
                AND b.issuer = \(identity.issuer) AND b.subject = \(identity.subject)
            """)
    }

    private func tenants(of key: [UInt8]) async throws -> [UUID] {
        let rows = try await platformScope.read(
            """
            SELECT id FROM directory_tenants_of(\(key)) AS id LIMIT \(Self.tenantsOfPersonLimit)
            """)
        let tenants: [UUID] = try rows.map { try $0.get(0) }
        for tenant in tenants { await writeSignIns(of: tenant) }
        return tenants
    }

    /// Reads the users that `found` selects in these tenants. For a merged user it returns the
    /// winner.
    private func people(in tenants: [UUID], _ found: SQL) async throws -> [FoundPerson] {
        let rows = try await platform.read(
            """
            WITH found AS (\(found)),
            person AS (
                SELECT f.tenant_id, coalesce(m.user_id, f.user_id) AS user_id,
                    string_agg(DISTINCT f.way, ',') AS ways
                FROM found f LEFT JOIN merged_users m
                    ON m.tenant_id = f.tenant_id AND m.id = f.user_id
                    AND m.tenant_id = ANY (\(tenants))
                GROUP BY 1, 2)
            SELECT u.tenant_id, t.slug, t.name, t.status, u.id, u.email, u.name, u.status, u.role,
                u.created_at, u.last_sign_in_at, p.ways
            FROM person p
            JOIN users u ON u.tenant_id = p.tenant_id AND u.id = p.user_id
                AND u.tenant_id = ANY (\(tenants))
            JOIN tenants t ON t.id = u.tenant_id AND t.id = ANY (\(tenants))
            ORDER BY t.slug, u.created_at, u.id LIMIT \(Self.foundPeopleLimit + 1)
            """)
        return try rows.map(FoundPerson.init)
    }
}

/// A user of any tenant, as a search over all tenants shows it.
package struct NamedPerson: Sendable {
    package let tenant: UUID
    package let tenantName: String
    package let id: UUID
    package let email: String
    package let name: String?

    init(_ row: Row) throws(PostgresError) {
        (tenant, tenantName, id, email, name) = try row.columns()
    }
}

extension Database {
    /// Users of any tenant who are not deleted and whose address or name contains each word of
    /// `text`; at most `most`. Finds no one if `text` has no three letters or digits in a row,
    /// since the index cannot find shorter texts.
    package func people(matching text: String, most: Int) async throws -> [NamedPerson] {
        let words = Self.words(of: text)
        let isFound = words.contains { word in
            word.split { !$0.isLetter && !$0.isNumber }.contains { $0.count > 2 }
        }
        guard isFound else { return [] }
        let patterns = Self.patterns(of: text)
        let found = try await readLagging(
            "SELECT tenant_id, user_id FROM search_people(\(patterns), \(most)::integer)", in: nil)
        let tenants: [UUID] = try found.map { try $0.get(0) }
        let ids: [UUID] = try found.map { try $0.get(1) }
        guard !ids.isEmpty else { return [] }
        let rows = try await readLagging(
            """
            SELECT u.tenant_id, t.name, u.id, u.email, u.name
            FROM users u JOIN tenants t ON t.id = u.tenant_id AND t.id = ANY (\(tenants))
            WHERE u.tenant_id = ANY (\(tenants)) AND u.id = ANY (\(ids)) AND u.status <> 'deleted'
                AND t.status <> 'deleted'
            ORDER BY u.email_key, t.slug
            """, in: nil)
        return try rows.map(NamedPerson.init)
    }
}

extension TenantScope {
    /// The user, and how the tenant's tables refer to them. `nil` if the tenant has no such user,
    /// or if the user was merged into another.
    package func personRecords(of id: UUID) async throws -> (UserRow, PersonRecords)? {
        await database.writeSignIns(of: tenant)
        await database.writeKeyUses(of: tenant)
        guard let row = try await user(id) else { return nil }
        let records = try await seeingMerged { transaction in
            try await PersonRecords(of: row, isOwnOnly: false, transaction)
        }
        return (row, records)
    }

    /// At most `limit` rows of one table as JSON objects, after the first `start` rows.
    package func rows(
        _ table: PersonTable, of records: PersonRecords, from start: Int, limit: Int
    ) async throws -> [String] {
        try await seeingMerged { transaction in
            let rows = try await transaction.query(
                table.page(records, from: start, limit: limit))
            return try rows.map { try $0.get(0, as: String.self) }
        }
    }

    /// What is stored about a user and would be removed by an erasure.
    package func evidence(of row: UserRow) async throws -> ErasureEvidence {
        try await seeingMerged { try await ErasureEvidence(of: row, $0) }
    }

    private func seeingMerged<Result: Sendable>(
        _ body: (Transaction) async throws -> Result
    ) async throws -> Result {
        try await database.app.transaction(
            settings: [("app.tenant", tenant.description), ("app.merged", "on")], body)
    }
}

/// The addresses of several users. Decisions that belong to no tenant refer to users by their
/// addresses.
package struct PersonAddresses: Sendable {
    let keys: [String]

    package init(_ records: [PersonRecords]) {
        keys = Set(records.flatMap(\.keys)).sorted()
    }
}

extension Database {
    /// The maximum number of decisions without a tenant that are shown, for all addresses together.
    /// Newer decisions come first.
    private static let unplacedDecisionsLimit = 1000

    /// Decisions about these addresses that belong to no tenant, as JSON objects.
    package func unplacedDecisions(_ addresses: PersonAddresses) async throws -> [String] {
        let rows = try await platformScope.read(
            """
            SELECT to_jsonb(t)::text FROM decisions t
            WHERE t.tenant_id = \(UUID.platform) AND t.email_key = ANY (\(addresses.keys))
            ORDER BY t.id DESC LIMIT \(Self.unplacedDecisionsLimit)
            """)
        return try rows.map { try $0.get(0, as: String.self) }
    }
}
