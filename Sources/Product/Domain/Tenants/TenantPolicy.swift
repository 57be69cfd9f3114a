import Text

/// The rules by which a tenant admits people. The defaults are those of a new tenant.
package struct TenantPolicy: Sendable, Equatable {
    /// Who may become a user without an operator's help; raw values are those of the wire format.
    package enum SignUp: String, Sendable, CaseIterable {
        case closed, open, domain, approval
        case inviteOnly = "invite_only"
    }
    /// Whether a sign-in at another provider is added to an existing user.
    package enum AutoLink: String, Sendable, CaseIterable { case off, authoritative }

    /// The lowest `password_min` that a tenant may set.
    package static let passwordFloor = 8

    package var signUp: SignUp = .inviteOnly
    /// Member or manager; the API refuses `admin`, and no rule gives it.
    package var defaultRole: UserRole = .member
    /// Scopes that the tenant's own product defines for its API keys; they give no rights at `/v1`.
    package var scopeCatalogue = ["smtp", "pop3", "imap", "api:read", "api:write", "app"]
    /// Allows local development origins in the CORS policy.
    package var devOrigins = false
    /// Allows private network access (`Access-Control-Allow-Private-Network`).
    package var privateNetwork = false
    package var allowedDomains: [String] = []
    /// Allows invites to addresses outside `allowedDomains`.
    package var externalInvites = true
    /// If false, another address may use an invite's token, which is audited.
    package var inviteEmailMustMatch = true
    package var autoLink: AutoLink = .off
    /// The shortest password in Unicode scalars, at least `passwordFloor`.
    package var passwordMin = 15
    /// Refuses common passwords, and passwords made from the user's address or name.
    package var passwordBlocklist = true
    /// Refuses new people at well-known domains of short-lived mailboxes.
    package var blockDisposable = false
    /// Refuses new people at these domains (A-labels) and below them.
    package var blockedDomains: [String] = []
    /// Refuses new people at these addresses, which are email keys.
    package var blockedEmails: [String] = []
    /// The most invites that may be pending at a time.
    package var invitesPendingMax = 10_000
    /// The most invites that one inviter may make within an hour.
    package var invitesPerInviterHour = 10_000
    /// The most mails with an invite that one address may get within a day.
    package var invitesPerRecipientDay = 20
    /// What happens to accounts that are not used.
    package var inactivity = InactivityRule()
    /// Increases with each change; decisions record it.
    package var version: Int64 = 1

    package init() {}

    /// Whether the allow list admits this domain (an A-label).
    package func allows(domain: String) -> Bool {
        allowedDomains.isEmpty || allowedDomains.contains { sameBytes($0, domain) }
    }

    /// The default role that a rule may give; never admin.
    package var givenRole: UserRole { min(defaultRole, .manager) }

    /// The role of a user who is admitted by this domain; never admin.
    package func givenRole(by domain: TenantDomain) -> UserRole {
        min(domain.role ?? defaultRole, .manager)
    }

    /// How users of this domain are admitted: by its mode, or else by the policy's `sign_up`. A
    /// closed policy overrides every mode.
    package func signUp(by domain: TenantDomain) -> SignUp {
        guard signUp != .closed else { return .closed }
        return switch domain.mode {
        case nil: signUp
        case .join: .domain
        case .ask: .approval
        case .inviteOnly: .inviteOnly
        }
    }
}

/// The addresses that a tenant does not admit: those on its own lists, and well-known disposable
/// domains. It applies to people whom neither an operator nor an invite admits.
extension TenantPolicy {
    /// The member of the policy that blocks an address; raw values are the member's name.
    package enum Block: String, Sendable, CaseIterable {
        case email = "blocked_emails"
        case domain = "blocked_domains"
        case disposable = "block_disposable"
    }

    /// The member that blocks the address; `nil` if it is not blocked. `key` is its email key,
    /// `domain` an A-label.
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
