import Text

/// Who may come in to a tenant, and how. The defaults are those of a new tenant.
package struct TenantPolicy: Sendable, Equatable {
    package enum SignUp: String, Sendable, CaseIterable {
        case closed, open, domain, approval
        case inviteOnly = "invite_only"
    }
    package enum AutoLink: String, Sendable, CaseIterable { case off, authoritative }

    /// No tenant may set `password_min` lower.
    package static let passwordFloor = 8

    package var signUp: SignUp = .inviteOnly
    /// Member or manager; `admin` is refused at entry and never given by a rule.
    package var defaultRole: UserRole = .member
    package var scopeCatalogue = ["smtp", "pop3", "imap", "api:read", "api:write", "app"]
    package var devOrigins = false
    package var privateNetwork = false
    /// A-labels; a filter, empty means none.
    package var allowedDomains: [String] = []
    package var externalInvites = true
    package var inviteEmailMustMatch = true
    package var autoLink: AutoLink = .off
    package var passwordMin = 15
    package var passwordBlocklist = true
    package var version: Int64 = 1

    package init() {}

    /// Whether the filter lets this domain (an A-label) in.
    package func allows(domain: String) -> Bool {
        allowedDomains.isEmpty || allowedDomains.contains { sameBytes($0, domain) }
    }

    /// The default role as a rule may give it: never admin.
    package var givenRole: UserRole { min(defaultRole, .manager) }
}
