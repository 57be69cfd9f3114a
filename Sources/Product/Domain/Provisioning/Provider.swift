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

/// A registered provider, of the platform or of one tenant.
package struct Provider: Sendable, Equatable {
    /// A provider behind a Cognito pool.
    package struct Upstream: Sendable, Equatable {
        /// As AWS names it in events; compared without ASCII case.
        package var name: String
        /// nil: not mapped, its identities belong to the pool.
        package var kind: ProviderKind?
        /// With `kind`: the issuer of its identities, instead of the pool.
        package var issuer: String?
        /// nil uses the pool's trust.
        package var emailTrust: EmailTrust?
        /// A-labels for which the upstream's `authoritative` counts.
        package var domains: [String]

        /// Defaults describe an upstream that is not mapped.
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
    /// Fixes the default trust in addresses.
    package var kind: ProviderKind
    /// For people at the console; no rule reads it.
    package var name: String
    /// A Cognito pool's issuer is its pool id.
    package var issuer: String
    /// nil uses the kind's default.
    package var emailTrust: EmailTrust?
    /// A-labels for which `authoritative` counts.
    package var domains: [String]
    /// Only for a Cognito pool; unlisted upstreams may still appear in events.
    package var upstreams: [Upstream]
    /// True: a pool's unlisted upstreams are refused with `provider_unknown`.
    package var strictUpstreams: Bool
    /// Client id to tenant.
    package var clientTenants: [String: UUID]
    /// `admin_create: allow` of a Cognito pool.
    package var allowsAdminCreate: Bool

    /// Defaults describe a provider of the platform with the kind's own trust.
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

    /// The tenant that this client id leads to, if the provider maps it.
    package func clientTenant(_ clientID: String) -> UUID? {
        clientTenants.first { sameBytes($0.key, clientID) }?.value
    }

    /// Finds an upstream by name; case varies between events of one pool.
    package func upstream(named name: String) -> Upstream? {
        upstreams.first { sameBytesIgnoringASCIICase($0.name, name) }
    }
}
