import Text

/// The closed list of places where people sign in.
package enum ProviderKind: String, Sendable, CaseIterable {
    case oidc, google, github, cognito, password
}

/// What a provider's word about an address is worth.
package enum EmailTrust: String, Sendable, CaseIterable {
    case none, authoritative
    case verifiedClaim = "verified_claim"
}

/// A registered provider, of the platform or of one tenant.
package struct Provider: Sendable, Equatable {
    /// A provider behind a Cognito pool.
    package struct Upstream: Sendable, Equatable {
        package var name: String
        package var kind: ProviderKind?
        /// With `kind`: identities are named by that issuer rather than by the pool.
        package var issuer: String?
        package var emailTrust: EmailTrust?
        package var domains: [String]

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
    /// The owner; nil is the platform.
    package var tenantID: UUID?
    package var kind: ProviderKind
    package var name: String
    /// A Cognito pool's issuer is its pool id.
    package var issuer: String
    /// nil takes the kind's default.
    package var emailTrust: EmailTrust?
    /// A-labels for which `authoritative` counts.
    package var domains: [String]
    package var upstreams: [Upstream]
    package var strictUpstreams: Bool
    /// Client id to tenant.
    package var clientTenants: [String: UUID]
    /// `admin_create: allow` of a Cognito pool.
    package var allowsAdminCreate: Bool

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

    /// The tenant that this client id asks for, if the provider names one.
    package func clientTenant(_ clientID: String) -> UUID? {
        clientTenants.first { sameBytes($0.key, clientID) }?.value
    }

    /// Looks an upstream up by name; case varies between events of one pool.
    package func upstream(named name: String) -> Upstream? {
        upstreams.first { sameBytesIgnoringASCIICase($0.name, name) }
    }
}
