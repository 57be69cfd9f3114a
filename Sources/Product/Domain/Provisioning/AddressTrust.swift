import Text

/// How far the attempt's address is proved, and by what.
package enum AddressTrust: String, Sendable, CaseIterable, Comparable {
    case none
    /// A provider's claim or an invite's token: enough for rules 3–8 and 10.
    case claim
    /// The mailbox was proved to this service or to the pool itself: enough for rule 9 too.
    case proved
    /// Asserted by an issuer that owns the domain: required by `auto_link`.
    case authoritative

    /// Orders by strength: none, claim, proved, authoritative.
    package static func < (left: AddressTrust, right: AddressTrust) -> Bool {
        left.rank < right.rank
    }

    private var rank: Int {
        switch self {
        case .none: 0
        case .claim: 1
        case .proved: 2
        case .authoritative: 3
        }
    }

    /// The trust from the provider alone. `ownDomain`: the domain that the provider's own tenant
    /// has verified; a tenant's provider is authoritative for nothing else.
    package static func ofProvider(
        _ provider: Provider, attempt: Attempt, domain: String, ownDomain: TenantDomain?
    ) -> AddressTrust {
        if attempt.trigger == .nativeProved {
            return attempt.emailVerified == true ? .proved : .none
        }
        if attempt.trigger == .invitePage || attempt.trigger.isUnprovedNative { return .none }
        if attempt.emailVerified == false { return .none }
        let claim: AddressTrust = attempt.emailVerified == true ? .claim : .none
        let owned = provider.tenantID == nil || ownDomain?.covers(domain) == true

        switch trust(provider, upstream: attempt.upstream) {
        case .some((.none, _)): return .none
        case .some((.verifiedClaim, _)): return claim
        case .some((.authoritative, let domains)):
            return owned && domains.contains { sameBytes($0, domain) } ? .authoritative : .none
        case nil: break
        }
        switch provider.kind {
        case .google:
            let host = attempt.hostedDomain.map { sameBytes(asciiLowercased($0), domain) } ?? false
            return owned && (sameBytes(domain, "gmail.com") || host) ? .authoritative : claim
        case .github: return claim
        case .oidc, .cognito, .password: return .none
        }
    }

    /// The configured trust, the upstream's before the pool's; nil uses the kind's default.
    private static func trust(
        _ provider: Provider, upstream name: String?
    ) -> (EmailTrust, [String])? {
        if let name, let upstream = provider.upstream(named: name), let own = upstream.emailTrust {
            return (own, upstream.domains)
        }
        return provider.emailTrust.map { ($0, provider.domains) }
    }
}
