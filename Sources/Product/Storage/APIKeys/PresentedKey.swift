import Postgres
import Text

/// A key found by its secret, with the states that can refuse it: one query, any tenant.
package struct PresentedKey: Sendable {
    package var tenant: UUID
    package var id: UUID
    package var environment: String
    /// The secret is the one before the last rotation.
    package var isPrevious: Bool
    package var previousUntil: Timestamp?
    package var scopes: [String]
    package var ownerType: String
    package var ownerUser: UUID?
    package var rateLimit: Int?
    package var allowedIPs: [String]
    package var allowedOrigins: [String]
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    package var tenantStatus: String?
    package var userStatus: String?
    package var userRole: String?
    package var name: String

    init(_ row: Row) throws(PostgresError) {
        tenant = try row.get(0)
        id = try row.get(1)
        environment = try row.get(2)
        isPrevious = try row.get(3)
        previousUntil = try row.get(4)
        scopes = try row.get(5)
        ownerType = try row.get(6)
        ownerUser = try row.get(7)
        rateLimit = try row.get(8)
        allowedIPs = try row.get(9)
        allowedOrigins = try row.get(10)
        expiresAt = try row.get(11)
        revokedAt = try row.get(12)
        tenantStatus = try row.get(13)
        userStatus = try row.get(14)
        userRole = try row.get(15)
        name = try row.get(16)
    }
}

extension Database {
    /// `hash`: SHA-256 of the whole secret; nil where no key has it.
    package func apiKey(
        locator: String, hash: [UInt8]
    ) async throws(PostgresError) -> PresentedKey? {
        let rows = try await app.read("SELECT * FROM api_key_by_secret(\(locator), \(hash))")
        return try rows.first.map(PresentedKey.init)
    }

    /// The same for many, in their order.
    func apiKeys(
        _ asked: [(locator: String, hash: [UInt8])]
    ) async throws(PostgresError) -> [PresentedKey?] {
        let rows = try await app.read(
            """
            SELECT found.*, asked.place
            FROM unnest(\(asked.map(\.locator)), \(asked.map(\.hash)))
                WITH ORDINALITY AS asked (locator, hash, place)
            CROSS JOIN LATERAL api_key_by_secret(asked.locator, asked.hash) AS found
            """)
        var keys = [PresentedKey?](repeating: nil, count: asked.count)
        for row in rows { keys[try row.get("place", as: Int.self) - 1] = try PresentedKey(row) }
        return keys
    }
}
