import Text

/// The settings by which a tenant admits people. The defaults are those of a new tenant.
package struct TenantPolicy: Sendable, Equatable {
    /// Who may become a user without an operator's help; raw values are those of the wire format.
    package enum SignUp: String, Sendable, CaseIterable {
        case closed, open, domain, approval
        case inviteOnly = "invite_only"
    }
    /// Whether a sign-in at another provider is added to an existing user: never (`off`), or only
    /// if the provider is authoritative for the address.
    package enum AutoLink: String, Sendable, CaseIterable { case off, authoritative }

    /// The lowest `password_min` that a tenant may set.
    package static let passwordFloor = 8

    package var signUp: SignUp = .inviteOnly
    /// The role of people who sign up: member or manager. The API refuses `admin`, and no rule
    /// gives it.
    package var defaultRole: UserRole = .member
    /// Scopes that the tenant's own product defines for its API keys; they give no rights at `/v1`.
    package var scopeCatalogue = ["smtp", "pop3", "imap", "api:read", "api:write", "app"]
    /// Whether the CORS policy allows local development origins.
    package var devOrigins = false
    /// Whether pages may reach the service in a private network
    /// (`Access-Control-Allow-Private-Network`).
    package var privateNetwork = false
    package var allowedDomains: [String] = []
    /// Whether addresses outside `allowedDomains` may be invited.
    package var externalInvites = true
    /// Whether only the invited address may use an invite's token. If false, a person with another
    /// address may use it, and this is audited.
    package var inviteEmailMustMatch = true
    package var autoLink: AutoLink = .off
    /// The minimum length of a password in Unicode scalars, at least `passwordFloor`.
    package var passwordMin = 15
    /// Whether common passwords, and passwords made from the user's address or name, are refused.
    package var passwordBlocklist = true
    /// Whether new people at well-known domains of short-lived mailboxes are refused.
    package var blockDisposable = false
    /// The domains (A-labels) that the tenant blocks. New people with an address at such a domain,
    /// or at a subdomain of it, are refused.
    package var blockedDomains: [String] = []
    /// The addresses that the tenant blocks, as email keys. New people with such an address are
    /// refused.
    package var blockedEmails: [String] = []
    /// The maximum number of invites that may be pending at a time.
    package var invitesPendingMax = 10_000
    /// The maximum number of invites that one inviter may make within an hour.
    package var invitesPerInviterHour = 10_000
    /// The maximum number of invite mails that one address may get within a day.
    package var invitesPerRecipientDay = 20
    /// What happens to accounts that are not used.
    package var inactivity = InactivityRule()
    /// The version of the policy, which increases with each change; decisions record it.
    package var version: Int64 = 1

    package init() {}

    /// Whether `allowedDomains` includes this domain (an A-label) or is empty.
    package func allows(domain: String) -> Bool {
        allowedDomains.isEmpty || allowedDomains.contains { sameBytes($0, domain) }
    }

    /// The default role that the rules give; never admin.
    package var givenRole: UserRole { min(defaultRole, .manager) }

    /// Returns the role of a user who is admitted by this domain; never admin.
    func givenRole(by domain: TenantDomain) -> UserRole {
        min(domain.role ?? defaultRole, .manager)
    }

    /// Returns how people of this domain are admitted: by the domain's mode, or else by the
    /// policy's `sign_up`. If the policy is `closed`, no mode counts.
    func signUp(by domain: TenantDomain) -> SignUp {
        guard signUp != .closed else { return .closed }
        return switch domain.mode {
        case nil: signUp
        case .join: .domain
        case .ask: .approval
        case .inviteOnly: .inviteOnly
        }
    }
}

/// The addresses that a tenant refuses: those on its own lists, and well-known disposable domains.
/// This affects only people whom neither an operator nor an invite admits.
extension TenantPolicy {
    /// The setting of the policy that blocks an address; the raw value is its name in the wire
    /// format.
    package enum Block: String, Sendable, CaseIterable {
        case email = "blocked_emails"
        case domain = "blocked_domains"
        case disposable = "block_disposable"
    }

    /// Returns the setting that blocks the address; `nil` if none does. `key` is the address's
    /// email key, `domain` an A-label.
    package func block(ofKey key: String, domain: String) -> Block? {
        if blockedEmails.contains(where: { sameBytes($0, key) }) { return .email }
        if !blockedDomains.isEmpty {
            let names = DisposableDomains.suffixes(of: domain)
            if blockedDomains.contains(where: { blocked in
                names.contains { sameBytes($0, blocked) }
            }) {
                return .domain
            }
        }
        return blockDisposable && DisposableDomains.contain(domain) ? .disposable : nil
    }
}
