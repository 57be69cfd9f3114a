import Postgres
import Text

/// By what a tenant's tables name one user: the ids, with those of merged users, the addresses, and
/// the ids and spellings that the records of the past have.
package struct PersonRecords: Sendable {
    package let tenant: UUID
    /// The user's own id first.
    let ids: [UUID]
    /// Email keys.
    let keys: [String]
    /// Ids of identities and invites.
    let things: [UUID]
    /// Spellings of the addresses.
    let words: [String]

    /// Keys of rows that wait in imports.
    let imported: [Int64]

    var idTexts: [String] { ids.map(\.description) }

    /// `row` is not read again. `isOwnOnly`: without an address that another row of the tenant has,
    /// as a purge does. The transaction sees merged users.
    init(
        of row: UserRow, isOwnOnly: Bool, _ transaction: Transaction
    ) async throws(PostgresError) {
        tenant = row.tenant
        let ids = [row.id] + row.mergedIDs
        self.ids = ids
        let shared: SQL =
            isOwnOnly
            ? """
             AND NOT EXISTS (SELECT 1 FROM users o WHERE o.tenant_id = \(tenant)
                AND o.email_key = u.email_key AND o.id <> ALL (\(ids)))
            """ : ""
        let addresses = try await transaction.query(
            """
            SELECT u.email_key, u.email FROM users u
            WHERE u.tenant_id = \(tenant) AND u.id = ANY (\(ids))\(shared)
            UNION SELECT f.email_key, f.email FROM former_addresses f
            WHERE f.tenant_id = \(tenant) AND f.user_id = ANY (\(ids))
            """)
        var keys: [String] = []
        var words: [String] = []
        for address in addresses {
            keys.append(try address.get(0))
            words.append(try address.get(1))
        }
        self.keys = keys
        let rows = try await transaction.query(
            """
            SELECT i.id, NULL::text FROM identities i
            WHERE i.tenant_id = \(tenant) AND i.user_id = ANY (\(ids))
            UNION SELECT f.id, NULL FROM former_identities f
            WHERE f.tenant_id = \(tenant) AND f.user_id = ANY (\(ids))
            UNION SELECT v.id, CASE WHEN v.email_key = ANY (\(keys)) THEN v.email END
            FROM invites v WHERE v.tenant_id = \(tenant)
                AND (v.email_key = ANY (\(keys)) OR v.accepted_user_id = ANY (\(ids)))
            UNION SELECT NULL::uuid, d.email FROM decisions d
            WHERE d.tenant_id = \(tenant) AND d.email_key = ANY (\(keys))
            """)
        var things: [UUID] = []
        for row in rows {
            if let thing = try row.get(0, as: UUID?.self) { things.append(thing) }
            if let word = try row.get(1, as: String?.self) { words.append(word) }
        }
        self.things = things
        self.words = keys + words
        imported = try await Self.imported(ids, keys, in: tenant, transaction)
    }

    private static func imported(
        _ ids: [UUID], _ keys: [String], in tenant: UUID, _ transaction: Transaction
    ) async throws(PostgresError) -> [Int64] {
        let rows = try await transaction.query(
            """
            SELECT u.external_id, NULL::text, NULL::text, NULL::text FROM users u
            WHERE u.tenant_id = \(tenant) AND u.id = ANY (\(ids)) AND u.external_id IS NOT NULL
            UNION SELECT NULL, i.provider, i.issuer, i.subject FROM identities i
            WHERE i.tenant_id = \(tenant) AND i.user_id = ANY (\(ids))
            """)
        return try ids.map { StagedPerson.key(id: $0.description) }
            + keys.map { StagedPerson.key(email: $0) }
            + rows.all { row throws(PostgresError) in
                if let id = try row.get(0, as: String?.self) {
                    return StagedPerson.key(externalID: id)
                }
                return StagedPerson.key(
                    provider: try row.get(1), issuer: try row.get(2), subject: try row.get(3))
            }
    }
}
