import Text

/// The kinds of provider at which a person can sign in; the list is closed.
package enum ProviderKind: String, Sendable, CaseIterable {
    case oidc, google, github, cognito, password
}

/// How far the service trusts a provider's claim that an address belongs to the person.
package enum EmailTrust: String, Sendable, CaseIterable {
    case none, authoritative
    case verifiedClaim = "verified_claim"
}

/// A registered provider of the platform or of one tenant.
package struct Provider: Sendable, Equatable {
    /// A provider whose users sign in through a Cognito pool.
    package struct Upstream: Sendable, Equatable {
        /// The upstream's name as AWS's events write it; compared without ASCII case.
        package var name: String
        /// The kind of provider that the upstream is. If nil, the upstream is not mapped: its
        /// identities belong to the pool.
        var kind: ProviderKind?
        /// The issuer of the upstream's identities, used instead of the pool's. It is set if `kind`
        /// is set.
        var issuer: String?
        /// The trust in the upstream's addresses; `nil` to use the pool's trust.
        var emailTrust: EmailTrust?
        /// The domains (A-labels) for which the trust `authoritative` of the upstream counts.
        var domains: [String]

        /// The defaults describe an upstream that is not mapped.
        package init(
            name: String, kind: ProviderKind? = nil, issuer: String? = nil,
            emailTrust: EmailTrust? = nil, domains: [String] = []
        ) {
            self.name = name
            self.kind = kind
            self.issuer = issuer
            self.emailTrust = emailTrust
            self.domains = domains
        }
    }

    package var id: UUID
    package var tenantID: UUID?
    /// The kind of provider; it determines the default trust in addresses.
    package var kind: ProviderKind
    /// The name that the console shows; no rule reads it.
    package var name: String
    /// The issuer; for a Cognito pool it is the pool's id.
    package var issuer: String
    /// The trust in the provider's addresses; `nil` for the default of the kind.
    package var emailTrust: EmailTrust?
    /// The domains (A-labels) for which the trust `authoritative` counts.
    var domains: [String]
    /// The configured upstreams of a Cognito pool; other upstreams may still occur in events.
    package var upstreams: [Upstream]
    /// Whether a sign-in from an upstream of the pool is refused with `provider_unknown` if the
    /// upstream is not configured.
    var strictUpstreams: Bool
    /// The tenant for each OAuth client id of the provider.
    package var clientTenants: [String: UUID]
    /// Whether users whom an administrator creates in the pool's console are admitted
    /// (`admin_create: allow`).
    package var allowsAdminCreate: Bool

    /// Creates the provider; the defaults describe a provider of the platform with the default
    /// trust of its kind.
    package init(
        id: UUID, tenantID: UUID? = nil, kind: ProviderKind, name: String, issuer: String,
        emailTrust: EmailTrust? = nil, domains: [String] = [], upstreams: [Upstream] = [],
        strictUpstreams: Bool = false, clientTenants: [String: UUID] = [:],
        allowsAdminCreate: Bool = false
    ) {
        self.id = id
        self.tenantID = tenantID
        self.kind = kind
        self.name = name
        self.issuer = issuer
        self.emailTrust = emailTrust
        self.domains = domains
        self.upstreams = upstreams
        self.strictUpstreams = strictUpstreams
        self.clientTenants = clientTenants
        self.allowsAdminCreate = allowsAdminCreate
    }

    /// Returns the tenant of this client id; `nil` if it has none.
    package func clientTenant(_ clientID: String) -> UUID? {
        clientTenants.first { sameBytes($0.key, clientID) }?.value
    }

    /// Returns the upstream with this name; `nil` if it is not configured. ASCII case is ignored,
    /// since the events of one pool spell the name in different cases.
    package func upstream(named name: String) -> Upstream? {
        upstreams.first { sameBytesIgnoringASCIICase($0.name, name) }
    }
}

/// How far the attempt's address is proved, and by what.
package enum AddressTrust: String, Sendable, CaseIterable, Comparable {
    case none
    /// A provider's claim or an invite's token proves the address, which is enough for rules 3–8
    /// and 10.
    case claim
    /// The mailbox was proved to this service or to the pool itself, which is enough for rule 9
    /// too.
    case proved
    /// An issuer that owns the address's domain proves the address, which `auto_link` requires.
    case authoritative

    /// Whether `left` is weaker. The order is none, claim, proved, authoritative.
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

    /// Returns the trust that follows from the provider's assertion alone. `ownDomain` is the
    /// domain that the provider's own tenant has verified; a tenant's provider is authoritative for
    /// no other domain.
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

    /// Returns the configured trust with its domains: the upstream's, or else the provider's.
    /// Returns nil if neither is configured; the default of the provider's kind then applies.
    private static func trust(
        _ provider: Provider, upstream name: String?
    ) -> (EmailTrust, [String])? {
        if let name, let upstream = provider.upstream(named: name), let own = upstream.emailTrust {
            return (own, upstream.domains)
        }
        return provider.emailTrust.map { ($0, provider.domains) }
    }
}
