import Text

/// The closed list of ways to sign in.
package enum ProviderKind: String, Sendable, CaseIterable {
    case oidc, google, github, cognito, password
}

/// How far a provider's assertion about an address is trusted.
package enum EmailTrust: String, Sendable, CaseIterable {
    case none, authoritative
    case verifiedClaim = "verified_claim"
}

/// A registered provider of the platform or of one tenant.
package struct Provider: Sendable, Equatable {
    /// A provider behind a Cognito pool.
    package struct Upstream: Sendable, Equatable {
        /// The name as in AWS's events; compared without ASCII case.
        package var name: String
        /// `nil` if it is not mapped; its identities then belong to the pool.
        package var kind: ProviderKind?
        /// The issuer of its identities, in place of the pool; set if `kind` is.
        package var issuer: String?
        /// `nil` for the pool's trust.
        package var emailTrust: EmailTrust?
        /// A-labels for which the upstream's `authoritative` counts.
        package var domains: [String]

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
    /// The kind, which determines the default trust in addresses.
    package var kind: ProviderKind
    /// The name for people at the console; no rule reads it.
    package var name: String
    /// The issuer; for a Cognito pool it is the pool's id.
    package var issuer: String
    /// `nil` for the kind's default.
    package var emailTrust: EmailTrust?
    /// A-labels for which `authoritative` counts.
    package var domains: [String]
    /// Only for a Cognito pool; unlisted upstreams may still appear in events.
    package var upstreams: [Upstream]
    /// Whether a pool's unlisted upstreams are refused with `provider_unknown`.
    package var strictUpstreams: Bool
    /// The tenants by client id.
    package var clientTenants: [String: UUID]
    /// Whether a Cognito pool has `admin_create: allow`.
    package var allowsAdminCreate: Bool

    /// The defaults describe a provider of the platform with its kind's own trust.
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

    /// The tenant to which the provider maps this client id, if any.
    package func clientTenant(_ clientID: String) -> UUID? {
        clientTenants.first { sameBytes($0.key, clientID) }?.value
    }

    /// Finds an upstream by name, ignoring case, which varies between events of one pool.
    package func upstream(named name: String) -> Upstream? {
        upstreams.first { sameBytesIgnoringASCIICase($0.name, name) }
    }
}

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

    /// The trust from the provider alone. `ownDomain` is the domain that the provider's own tenant
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

    /// The configured trust, the upstream's before the pool's; `nil` for the kind's default.
    private static func trust(
        _ provider: Provider, upstream name: String?
    ) -> (EmailTrust, [String])? {
        if let name, let upstream = provider.upstream(named: name), let own = upstream.emailTrust {
            return (own, upstream.domains)
        }
        return provider.emailTrust.map { ($0, provider.domains) }
    }
}
