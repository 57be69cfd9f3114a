import Text

/// The bounds of a key: scopes, expiry, addresses, origins and rate. A key cannot give more than it
/// has to another key, or to itself.
package struct APIKeyBounds: Sendable, Equatable {
    /// A bound by its name on the wire.
    package enum Part: String, Sendable, CaseIterable {
        case scopes
        case expiry = "expires_at"
        case addresses = "allowed_ips"
        case origins = "allowed_origins"
        case limit = "rate_limit"
    }

    /// Management scopes and the tenant's own catalogue.
    package var scopes: [String]
    /// `nil` if the key never expires.
    package var expiresAt: Timestamp?
    /// Addresses and CIDR blocks; if empty, any address may use the key.
    package var allowedIPs: [String]
    /// If empty, any page may use the key.
    package var allowedOrigins: [String]
    /// Uses per minute; `nil` if there is no limit.
    package var ratePerMinute: Int?

    /// Empty arrays and nil mean that there is no bound, except for scopes.
    package init(
        scopes: [String], expiresAt: Timestamp?, allowedIPs: [String], allowedOrigins: [String],
        ratePerMinute: Int?
    ) {
        self.scopes = scopes
        self.expiresAt = expiresAt
        self.allowedIPs = allowedIPs
        self.allowedOrigins = allowedOrigins
        self.ratePerMinute = ratePerMinute
    }

    /// The parts of the bounds that decide which keys this one may create.
    package var limits: Principal.KeyLimits {
        Principal.KeyLimits(
            isBound: !allowedIPs.isEmpty || !allowedOrigins.isEmpty || ratePerMinute != nil,
            expiresAt: expiresAt)
    }

    /// The parts in which `other` exceeds these bounds. Scopes of a tenant's catalogue give no
    /// rights at `/v1`, so they do not count unless the key itself is being widened
    /// (`countsCatalogue`).
    package func exceeded(by other: APIKeyBounds, countsCatalogue: Bool = false) -> [Part] {
        Part.allCases.filter { part in
            switch part {
            case .scopes: !covers(scopes: other.scopes, countsCatalogue)
            case .expiry: !Self.covers(expiresAt, other.expiresAt)
            case .addresses: !covers(ips: other.allowedIPs)
            case .origins: !covers(origins: other.allowedOrigins)
            case .limit: !Self.covers(ratePerMinute, other.ratePerMinute)
            }
        }
    }

    private func covers(scopes others: [String], _ countsCatalogue: Bool) -> Bool {
        others.allSatisfy { scope in
            let isRight = ManagementScope.allCases.contains { sameBytes($0.rawValue, scope) }
            return !(isRight || countsCatalogue) || scopes.contains { sameBytes($0, scope) }
        }
    }

    /// A nil value is unbounded.
    private static func covers<Value: Comparable>(_ own: Value?, _ other: Value?) -> Bool {
        guard let own else { return true }
        return other.map { $0 <= own } ?? false
    }

    /// Each block must lie within one of the own blocks; several blocks that only together cover it
    /// do not count.
    private func covers(ips others: [String]) -> Bool {
        if allowedIPs.isEmpty { return true }
        let own = allowedIPs.compactMap { IPRange($0) }
        return !others.isEmpty
            && others.allSatisfy { text in
                guard let other = IPRange(text) else { return false }
                return own.contains { $0.prefix <= other.prefix && $0.contains(other.base) }
            }
    }

    private func covers(origins others: [String]) -> Bool {
        if allowedOrigins.isEmpty { return true }
        return !others.isEmpty
            && others.allSatisfy { other in
                allowedOrigins.contains { own in
                    // No wildcard matches the text of another wildcard.
                    sameBytes(own, other)
                        || (try? Origin(configuring: own))?.matches(Array(other.utf8)) ?? false
                }
            }
    }
}

extension APIKeyBounds {
    /// Whether the ranges contain the address; true if there are none.
    package func allows(ip text: String) -> Bool {
        guard !allowedIPs.isEmpty else { return true }
        guard let address = IPAddress(text) else { return false }
        return allowedIPs.contains { IPRange($0)?.contains(address) ?? false }
    }

    /// Whether the origins match what a browser sent; true if there are none.
    package func allows(origin text: String) -> Bool {
        guard !allowedOrigins.isEmpty else { return true }
        return allowedOrigins.contains {
            (try? Origin(configuring: $0))?.matches(Array(text.utf8)) ?? false
        }
    }
}

extension APIKey {
    package var bounds: APIKeyBounds {
        get {
            APIKeyBounds(
                scopes: scopes, expiresAt: expiresAt, allowedIPs: allowedIPs,
                allowedOrigins: allowedOrigins, ratePerMinute: ratePerMinute)
        }
        set {
            scopes = newValue.scopes
            expiresAt = newValue.expiresAt
            allowedIPs = newValue.allowedIPs
            allowedOrigins = newValue.allowedOrigins
            ratePerMinute = newValue.ratePerMinute
        }
    }

    /// The key whose rate limit counter the keys that this one creates share; `nil` if they have
    /// their own.
    package var sharedLimit: UUID? { ratePerMinute == nil ? nil : limitSharedWith ?? id }
}
