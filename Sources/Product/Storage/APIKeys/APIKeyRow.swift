import Domain
import Postgres
import Text

/// An API key as stored: the domain's key, its creator, and its version.
package struct APIKeyRow: ListedRow {
    package var key: APIKey
    /// The actor's type: `operator`, `user` or `key`.
    package var createdByType: String
    /// The actor's id as text.
    package var createdByID: String
    /// Increases with each change; the ETag is made of it.
    package var version: Int
    package var updatedAt: Timestamp
    /// The name in lower case, by which the list is ordered.
    package var nameKey: String

    package var id: UUID { key.id }
    package var createdAt: Timestamp { key.createdAt }

    static let columns: SQL =
        """
        tenant_id, id, name, environment, hash, prefix, last4, previous_hash, previous_prefix,
        previous_last4, previous_until, previous_last_used_at, previous_uses, scopes, owner_type,
        owner_user_id, created_by_type, created_by_id, rate_limit, note, allowed_ips,
        allowed_origins, expires_at, last_used_at, last_used_ip, revoked_at, revocation_reason,
        version, created_at, updated_at, name_key, owner_deleted_at, limit_shared_with, given_before
        """

    init(_ row: Row) throws(PostgresError) {
        let tenant: UUID = try row.get(0)
        guard let environment = APIKeySecret.Environment(rawValue: try row.get(3)) else {
            throw PostgresError(.decoding, "environment")
        }
        let user: UUID? = try row.get(15)
        key = APIKey(
            id: try row.get(1), tenantID: tenant == .platform ? nil : tenant,
            owner: tenant == .platform ? .platform : user.map { .user($0) } ?? .tenant(tenant),
            name: try row.get(2), environment: environment,
            current: APIKey.Secret(
                hash: try row.get(4), prefix: try row.get(5), last4: try row.get(6)),
            previous: try Self.previous(row), scopes: try row.get(13),
            allowedIPs: try row.get(20), allowedOrigins: try row.get(21),
            ratePerMinute: try row.get(18), note: try row.get(19), createdAt: try row.get(28),
            expiresAt: try row.get(22), revokedAt: try row.get(25),
            revocationReason: try row.get(26), lastUsedAt: try row.get(23),
            lastUsedIP: try row.get(24))
        key.ownerDeletedAt = try row.get(31)
        key.limitSharedWith = try row.get(32)
        key.isGivenBefore = try row.get(33)
        createdByType = try row.get(16)
        createdByID = try row.get(17)
        version = try row.get(27)
        updatedAt = try row.get(29)
        nameKey = try row.get(30)
    }

    /// The cursor's value: the name key, or `created_at` in microseconds since 1970.
    package func value(of sort: ListQuery.Sort) -> String {
        sort == .name ? nameKey : "\(createdAt.microseconds)"
    }

    private static func previous(_ row: Row) throws(PostgresError) -> APIKey.Previous? {
        guard let hash = try row.get(7, as: [UInt8]?.self),
            let until = try row.get(10, as: Timestamp?.self)
        else { return nil }
        return APIKey.Previous(
            secret: APIKey.Secret(
                hash: hash, prefix: try row.get(8, as: String?.self) ?? "",
                last4: try row.get(9, as: String?.self) ?? ""),
            until: until, lastUsedAt: try row.get(11), uses: try row.get(12))
    }
}
