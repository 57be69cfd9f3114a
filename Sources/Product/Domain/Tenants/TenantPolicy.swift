import Text

/// The rules by which a tenant admits people. The defaults are those of a new tenant.
package struct TenantPolicy: Sendable, Equatable {
    /// Who may become a user without an operator's help; raw values are the wire format's.
    package enum SignUp: String, Sendable, CaseIterable {
        case closed, open, domain, approval
        case inviteOnly = "invite_only"
    }
    /// Whether a sign-in at another provider joins an existing user.
    package enum AutoLink: String, Sendable, CaseIterable { case off, authoritative }

    /// No tenant may set `password_min` lower.
    package static let passwordFloor = 8

    package var signUp: SignUp = .inviteOnly
    /// Member or manager; the API refuses `admin`, and no rule gives it.
    package var defaultRole: UserRole = .member
    /// Scopes that the tenant's own product defines for its API keys; no rights at `/v1`.
    package var scopeCatalogue = ["smtp", "pop3", "imap", "api:read", "api:write", "app"]
    /// Allows local development origins in the CORS policy.
    package var devOrigins = false
    /// Allows private network access (`Access-Control-Allow-Private-Network`).
    package var privateNetwork = false
    package var allowedDomains: [String] = []
    /// Allows invites to addresses outside `allowedDomains`.
    package var externalInvites = true
    /// False: an invite's token may be used by another address, which is audited.
    package var inviteEmailMustMatch = true
    package var autoLink: AutoLink = .off
    /// Shortest password in Unicode scalars, at least `passwordFloor`.
    package var passwordMin = 15
    /// Refuses common passwords, and those made of the user's address or name.
    package var passwordBlocklist = true
    /// Refuses new people at well-known domains of mailboxes for a few minutes.
    package var blockDisposable = false
    /// Refuses new people at these domains (A-labels) and below them.
    package var blockedDomains: [String] = []
    /// Refuses new people at these addresses, which are email keys.
    package var blockedEmails: [String] = []
    /// How many invites may be pending at once.
    package var invitesPendingMax = 10_000
    /// How many invites one inviter may make within an hour.
    package var invitesPerInviterHour = 10_000
    /// How many mails with an invite one address may get within a day.
    package var invitesPerRecipientDay = 20
    /// What happens to accounts that are not used.
    package var inactivity = InactivityRule()
    /// Increases with each change; decisions record it.
    package var version: Int64 = 1

    package init() {}

    /// Whether the filter admits this domain (an A-label).
    package func allows(domain: String) -> Bool {
        allowedDomains.isEmpty || allowedDomains.contains { sameBytes($0, domain) }
    }

    /// The default role as a rule may give it: never admin.
    package var givenRole: UserRole { min(defaultRole, .manager) }

    /// The role of who comes in by this domain: never admin.
    package func givenRole(by domain: TenantDomain) -> UserRole {
        min(domain.role ?? defaultRole, .manager)
    }

    /// Who comes in by this domain: its mode, else the policy's `sign_up`. A closed policy stands
    /// above all modes.
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

/// Which addresses a tenant keeps out: its own lists, and well-known disposable domains. It holds
/// for those whom no operator and no invite let in.
extension TenantPolicy {
    /// The member of the policy by which an address is blocked; raw values are its name.
    package enum Block: String, Sendable, CaseIterable {
        case email = "blocked_emails"
        case domain = "blocked_domains"
        case disposable = "block_disposable"
    }

    /// nil: the address is not blocked. `key`: its email key; `domain`: an A-label.
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
