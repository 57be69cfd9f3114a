import Domain
import Text

extension PresentedKey {
    /// The facts for the key's verdict.
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
        // A request without an address or origin is refused if the key is bound to some.
        facts.isIPAllowed = allowedIPs.isEmpty || ip.map(allows(ip:)) ?? false
        facts.isOriginAllowed = allowedOrigins.isEmpty || origin.map(allows(origin:)) ?? false
        facts.holdsScopes = required.allSatisfy { scope in
            scopes.contains { sameBytes($0, scope) }
        }
        return facts
    }

    /// The owner, by whom a key's rights are bounded; of a user's key with the role as it is now.
    package var owner: Principal.KeyOwner {
        if tenant == .platform { return .platform }
        guard let ownerUser else { return .tenant(tenant) }
        return .user(id: ownerUser, role: userRole ?? .member, tenant: tenant)
    }

    /// Whether the address is in the key's ranges; true if there are none.
    package func allows(ip text: String) -> Bool { bounds.allows(ip: text) }

    /// Whether a browser's origin matches the key's origins; true if there are none.
    package func allows(origin text: String) -> Bool { bounds.allows(origin: text) }

    /// What of its bounds decides whom it may make.
    package var limits: Principal.KeyLimits {
        Principal.KeyLimits(
            isBound: !allowedIPs.isEmpty || !allowedOrigins.isEmpty || rateLimit != nil,
            expiresAt: expiresAt)
    }

    private var bounds: APIKeyBounds {
        APIKeyBounds(
            scopes: scopes, expiresAt: expiresAt, allowedIPs: allowedIPs,
            allowedOrigins: allowedOrigins, ratePerMinute: rateLimit)
    }
}
