import Domain
import Postgres
import Text

/// A provisioning request before resolution.
package struct ProvisioningCall: Sendable {
    /// How the entry point names the provider.
    package enum ProviderName: Sendable {
        /// A kind or a registered id, with the issuer if the caller gave it.
        case attempt(String, issuer: String?, subject: String)
        /// A Cognito pool: its event determines the identity.
        case pool(String, CognitoMapping.Trigger, userName: String)
        /// A pool's id token of a user from an upstream.
        case federated(pool: String, FederatedName)
    }

    /// One entry of a token's `identities`.
    package struct FederatedName: Sendable {
        /// As the token names it; compared without ASCII case.
        package var upstream: String
        package var subject: String

        package init(upstream: String, subject: String) {
            self.upstream = upstream
            self.subject = subject
        }
    }

    /// Leads to the identity once the provider's row is read.
    package var provider: ProviderName
    package var trigger: Attempt.Trigger
    /// As sent; nil if missing.
    package var email: String?
    /// nil: the claim is absent, which is not an explicit false.
    package var emailVerified: Bool?
    /// Further addresses that the provider verified for this account. One of them takes the place of
    /// `email` before anything is locked, if it is the one that was invited; none is stored.
    package var otherEmails: [String] = []
    /// Two of the addresses are invited where the person asks, and the primary one is not.
    var isAddressOpen = false
    /// Why the provider could not be asked for the address; nil: it was not asked, or answered.
    package var addressFault: String?
    /// Google's `hd`; nil without one.
    package var hostedDomain: String?
    /// A longer name is cut and one with invisible characters goes without them, so that it does not
    /// cause a refusal.
    package var name: String? {
        didSet {
            guard let given = name else { return }
            let shown = DisplayText.shown(given)
            let scalars = shown.unicodeScalars
            name =
                shown.isEmpty
                ? nil
                : scalars.count > Self.nameLimit
                    ? String(String.UnicodeScalarView(scalars.prefix(Self.nameLimit))) : shown
        }
    }
    /// Id or slug, and its source.
    package var tenant: String?
    /// Shown in the trace; `.attempt` means that the request itself named it.
    package var tenantSource: AskedTenant.Source = .attempt
    /// As sent; unknown tokens are refused by the rules.
    package var inviteToken: String?
    /// A token that the entry point did not keep; its tenant is then the asked one.
    package var inviteHash: [UInt8]?
    /// As sent; unknown tokens are refused by the rules.
    package var joinToken: String?
    /// A join link's token that the entry point did not keep; its tenant is then the asked one.
    package var joinHash: [UInt8]?
    /// An operator's one-time permission to link this identity to a user.
    package var linkGrant: String?
    /// The OAuth client that started the sign-in; nil if the caller names none.
    package var clientID: String?
    /// The caller's name of this event: a retry with it gets the recorded answer.
    package var eventID: String?
    /// The tenant of the caller's credential; nil is the platform's.
    package var caller: UUID?
    /// The person calls directly, with a provider's token or at a page of ours, not by a hook.
    package var isInPerson = false
    /// The only provider that the credential may name; nil: any that the caller may name.
    package var onlyProvider: UUID?
    /// The pool's `sub`: the current owner of a native user name, and an alias of the identity.
    package var alias: PoolAlias?
    /// More names of one federated user, in the order of their provider's token: the first known
    /// one identifies the user, else the one of `provider`.
    package var otherNames: [FederatedName] = []
    /// The PHC string of the password of a password identity.
    package var passwordHash: String?
    /// When the provider's token was issued; nil without a token, as with a hook.
    package var tokenTime: TokenTime?
    /// Runs only to complete a native sign-up's reservation.
    package var needsReservation = false

    /// The maximum length of a name in Unicode scalars, as Cognito keeps of an attribute.
    package static let nameLimit = 2048

    /// The rest starts unset: the entry point fills it in.
    package init(provider: ProviderName, trigger: Attempt.Trigger = .federated) {
        self.provider = provider
        self.trigger = trigger
    }
}

/// The `sub` of a user in one pool.
package struct PoolAlias: Sendable {
    /// The pool's id, as in the token's issuer.
    package var pool: String
    /// A UUID as AWS writes it; compared byte for byte.
    package var sub: String

    /// Both as the pool sent them.
    package init(pool: String, sub: String) {
        self.pool = pool
        self.sub = sub
    }
}

/// The result of one call.
package struct ProvisioningResult: Sendable {
    /// What the rules decided, or the recorded decision of a retry.
    package var verdict: Verdict
    /// nil in a dry run.
    package var decisionID: UUID?
    /// Six characters that find the decision; empty in a dry run.
    package var reference: String
    package var user: UserRow?
    /// nil: no tenant was found or the choice is open.
    package var tenant: TenantRow?
    /// The tenants to choose from.
    package var choices: [TenantRow]
    /// The identity that the decision used or linked; nil: none.
    package var identityID: UUID?
    /// Of a refused dry run: what would admit, from the facts that were read.
    package var wouldAdmit: [NearestYes]?
    /// Whether the attempt's address is valid, and whether the provider is trusted to prove it.
    var isAddressSound = false
    var isAddressTrusted = false
    /// The text from `render`, which is recorded for a retry.
    package var answer: String
}

extension ProvisioningResult {
    /// The refusal's reason as shown to a person who calls directly.
    package var publicReason: Reason { verdict.publicReason ?? verdict.reason ?? .approvalPending }

    /// The result as shown to a person who calls directly: the user and the tenant only on success,
    /// and of a refusal only the public reason and the reference. The recorded decision has it all.
    package var publicView: ProvisioningResult {
        guard verdict.outcome == .refused else { return self }
        let verdict = Verdict(.refused, reason: publicReason)
        return ProvisioningResult(
            verdict: verdict, decisionID: decisionID, reference: reference, user: nil, tenant: nil,
            choices: [], identityID: nil, answer: answer)
    }
}

extension ProvisioningCall {
    /// Takes over the token of the page on which the sign-in was begun.
    package mutating func bring(_ token: BroughtToken?) {
        switch token {
        case .invite(let hash): inviteHash = hash
        case .join(let hash): joinHash = hash
        case nil: break
        }
    }

    /// The owner of retries and limits: other callers neither repeat nor use up these.
    var callerName: String { isInPerson ? "person" : (caller ?? .platform).description }

    /// What attempts of one person share before resolution: the subject, and the address. Coarser
    /// than the row locks, never finer.
    var personKeys: [String] {
        let addresses = Set([email].compactMap(\.self) + otherEmails).map(Self.addressKey)
        return [subjectKey] + addresses.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Of the address that is decided by; nil without one.
    var addressKey: String? { email.map(Self.addressKey) }

    private static func addressKey(_ email: String) -> String {
        "address " + ((try? EmailAddress(email))?.key ?? email)
    }

    /// The keys of the further addresses, in byte order.
    var otherKeys: [String] {
        Set(otherEmails.compactMap { try? EmailAddress($0).key }).sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
    }

    /// The subject at the provider, as the call has it.
    package var subjectKey: String {
        var subject: String
        switch provider {
        case .attempt(_, _, let named): subject = named
        case .pool(_, .externalProvider, let userName):
            subject = userName.split(separator: "_", maxSplits: 1).last.map(String.init) ?? userName
        case .pool(_, _, let userName): subject = userName
        case .federated(_, let name): subject = name.subject
        }
        return "subject " + subject
    }
}

/// Resolves what the call names: its provider, its tenants and its identity.
struct ResolvedAttempt: Sendable {
    var attempt: Attempt
    var provider: Provider?
    var asked: [AskedTenant] = []
    /// Tenants that the locators of the tokens may mean.
    var tokenTenants: [UUID] = []
    var tokenHash: [UInt8]?
    var joinHash: [UInt8]?
    /// The callers whose reservations count, in order of precedence.
    var reservers: [UUID] = []
}

extension ProvisioningCall {
    /// Whether the provider is not the one that the call names, or an upstream is missing: a
    /// federated user's name without an upstream matches no user, and no native one.
    func misnames(_ provider: Provider, upstream: String?) -> Bool {
        switch self.provider {
        case .pool(_, let trigger, _): return trigger == .externalProvider && upstream == nil
        case .federated: return upstream == nil
        case .attempt(_, let issuer, _):
            guard provider.kind == .cognito, let issuer else { return false }
            let parts = CognitoMapping.parts(ofIssuer: issuer)
            return !sameBytes(parts.pool, provider.issuer)
                || parts.upstream != nil && upstream == nil
        }
    }
}
