import Domain
import Text

extension PresentedKey {
    /// The key in the words of the domain, for its verdict.
    package func facts(
        scopes required: [String] = [], ip: String?, origin: String?
    ) -> APIKeyVerdict.Facts {
        var facts = APIKeyVerdict.Facts()
        if isPrevious { facts.secret = .previous(until: previousUntil) }
        facts.expiresAt = expiresAt
        facts.revokedAt = revokedAt
        facts.tenantStatus = tenant == .platform ? .active : tenantStatus ?? .deleted
        facts.isOfUser = ownerUser != nil
        facts.userStatus = userStatus
        // Who names no address or origin is refused where the key is bound to some.
        facts.isIPAllowed = allowedIPs.isEmpty || ip.map(allows(ip:)) ?? false
        facts.isOriginAllowed = allowedOrigins.isEmpty || origin.map(allows(origin:)) ?? false
        facts.holdsScopes = required.allSatisfy { scope in
            scopes.contains { sameBytes($0, scope) }
        }
        return facts
    }

    /// Whether the key's ranges hold the address; true where there are none.
    package func allows(ip text: String) -> Bool { bounds.allows(ip: text) }

    /// Whether the key's origins match what a browser sent; true where there are none.
    package func allows(origin text: String) -> Bool { bounds.allows(origin: text) }

    private var bounds: APIKeyBounds {
        APIKeyBounds(
            scopes: scopes, expiresAt: expiresAt, allowedIPs: allowedIPs,
            allowedOrigins: allowedOrigins, ratePerMinute: rateLimit)
    }
}
