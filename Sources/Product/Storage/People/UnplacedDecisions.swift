import Postgres
import Text

/// The addresses of several users, by which the platform's own records name them.
package struct PersonAddresses: Sendable {
    let keys: [String]

    package init(_ records: [PersonRecords]) {
        keys = Set(records.flatMap(\.keys)).sorted()
    }
}

extension Database {
    /// Decisions about an address that led to no tenant are shown so many, the newest.
    private static let unplacedDecisionsLimit = 1000

    /// Decisions of no tenant about these addresses, as JSON objects.
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
