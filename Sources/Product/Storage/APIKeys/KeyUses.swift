import Domain
import Postgres
import Text

/// Uses of keys in the current minute, as this process saw them: what `last_used_at` needs to be
/// exact to the minute without a write per use, and what a rate limit counts. A limit holds for
/// each replica.
package typealias KeyUses = MinuteCounts<UUID>

extension Database {
    /// Writes down a use of a good key, if it is the first in its minute (`count` is 1) or the
    /// secret is the one before the last rotation, whose uses are counted.
    package func noteUse(
        of key: PresentedKey, count: Int, ip: String?
    ) async throws {
        guard count == 1 || key.isPrevious else { return }
        let now = clock()
        var sql: SQL = "UPDATE api_keys SET last_used_at = \(now), last_used_ip = \(ip)"
        if key.isPrevious {
            sql += ", previous_uses = previous_uses + 1, previous_last_used_at = \(now)"
        }
        sql += " WHERE tenant_id = \(key.tenant) AND id = \(key.id)"
        let statement = sql
        _ = try await app.transaction(
            settings: [("app.tenant", key.tenant.description)]
        ) { transaction in
            try await transaction.query(statement)
        }
    }
}

extension PresentedKey {
    /// The key in the words of the domain, for its verdict. `hash`: of what was presented.
    package func facts(
        presented hash: [UInt8], scopes required: [String] = [], ip: String?, origin: String?,
        isRateLimited: Bool = false
    ) -> APIKeyVerdict.Facts? {
        guard let environment = APIKeySecret.Environment(rawValue: environment) else { return nil }
        let secret = APIKey.Secret(hash: hash, prefix: "", last4: "")
        let none = APIKey.Secret(hash: [], prefix: "", last4: "")
        let key = APIKey(
            id: id, tenantID: tenant == .platform ? nil : tenant,
            owner: tenant == .platform ? .platform : ownerUser.map { .user($0) } ?? .tenant(tenant),
            name: name, environment: environment, current: isPrevious ? none : secret,
            previous: isPrevious
                ? previousUntil.map { APIKey.Previous(secret: secret, until: $0) } : nil,
            scopes: scopes, allowedIPs: allowedIPs, allowedOrigins: allowedOrigins,
            ratePerMinute: rateLimit, createdAt: Timestamp(microseconds: 0), expiresAt: expiresAt,
            revokedAt: revokedAt)
        return APIKeyVerdict.Facts(
            key: key, presentedHash: hash,
            tenantStatus: tenant == .platform
                ? .active : tenantStatus.flatMap { Tenant.Status(rawValue: $0) } ?? .deleted,
            userStatus: userStatus.flatMap { User.Status(rawValue: $0) },
            requiredScopes: required, isIPAllowed: ip.map(allows(ip:)),
            isOriginAllowed: origin.map(allows(origin:)), isRateLimited: isRateLimited)
    }

    /// Whether the key's ranges hold the address; true where there are none.
    package func allows(ip text: String) -> Bool {
        guard !allowedIPs.isEmpty else { return true }
        guard let address = IPAddress(text) else { return false }
        return allowedIPs.contains { IPRange($0)?.contains(address) ?? false }
    }

    /// Whether the key's origins match what a browser sent; true where there are none.
    package func allows(origin text: String) -> Bool {
        guard !allowedOrigins.isEmpty else { return true }
        return allowedOrigins.contains {
            (try? Origin(configuring: $0))?.matches(Array(text.utf8)) ?? false
        }
    }
}
