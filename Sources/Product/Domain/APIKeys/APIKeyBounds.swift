import Text

/// The bounds of a key: its scopes, expiry, addresses, origins and rate. A key cannot give another
/// key, or itself, wider bounds than it has.
package struct APIKeyBounds: Sendable, Equatable {
    /// One kind of bound; the raw value is its name in the wire format.
    package enum Part: String, Sendable, CaseIterable {
        case scopes
        case expiry = "expires_at"
        case addresses = "allowed_ips"
        case origins = "allowed_origins"
        case limit = "rate_limit"
    }

    /// The key's scopes: management scopes, and scopes of the tenant's own catalogue.
    var scopes: [String]
    /// The expiry, exclusive; `nil` if the key never expires.
    package var expiresAt: Timestamp?
    /// IP addresses and CIDR blocks from which the key may be used; if empty, it may be used from
    /// any address.
    package var allowedIPs: [String]
    /// Origin patterns; if empty, any page may use the key.
    package var allowedOrigins: [String]
    /// The maximum number of uses per minute; `nil` if there is no limit.
    package var ratePerMinute: Int?

    /// Creates the bounds. An empty array or nil means that there is no bound of this kind. Scopes
    /// are the exception: without scopes the key has no rights.
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

    /// The parts of these bounds that limit which keys this key may create.
    package var limits: Principal.KeyLimits {
        Principal.KeyLimits(
            isBound: !allowedIPs.isEmpty || !allowedOrigins.isEmpty || ratePerMinute != nil,
            expiresAt: expiresAt)
    }

    /// Returns the parts in which `other` is wider than these bounds. If `countsCatalogue` is
    /// false, scopes of a tenant's catalogue do not count, since they give no rights at `/v1`. Pass
    /// true if the key itself is to be changed.
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

    /// Whether `other` is at most `own`; nil means no limit.
    private static func covers<Value: Comparable>(_ own: Value?, _ other: Value?) -> Bool {
        guard let own else { return true }
        return other.map { $0 <= own } ?? false
    }

    /// Whether every block of `others` lies within a single block of this key. A block that only
    /// several of the key's blocks together cover does not count as covered.
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
                    // Equal wildcards are found by their bytes, since `matches` accepts only
                    // origins, not another wildcard's text.
                    sameBytes(own, other)
                        || (try? Origin(configuring: own))?.matches(Array(other.utf8)) ?? false
                }
            }
    }
}

extension APIKeyBounds {
    /// Whether the key's address ranges contain the address; true if the key has no ranges.
    package func allows(ip text: String) -> Bool {
        guard !allowedIPs.isEmpty else { return true }
        guard let address = IPAddress(text) else { return false }
        return allowedIPs.contains { IPRange($0)?.contains(address) ?? false }
    }

    /// Whether the key's origins match the `Origin` that a browser sent; true if the key has no
    /// origins.
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

    /// The id of the key whose rate limit counter is shared by the keys that this key creates;
    /// `nil` if each of them has its own.
    package var sharedLimit: UUID? { ratePerMinute == nil ? nil : limitSharedWith ?? id }
}
