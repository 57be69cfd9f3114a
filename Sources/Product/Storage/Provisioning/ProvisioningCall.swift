import Domain
import Postgres
import Text

/// A provisioning request before resolution.
package struct ProvisioningCall: Sendable {
    /// How the entry point names the provider.
    package enum ProviderName: Sendable {
        /// A kind or a registered id, with the issuer if the caller gave one.
        case attempt(String, issuer: String?, subject: String)
        /// A Cognito pool: its event determines the identity.
        case pool(String, CognitoMapping.Trigger, userName: String)
        /// A pool's id token for a user from an upstream.
        case federated(pool: String, FederatedName)
    }

    /// One entry of a token's `identities`.
    package struct FederatedName: Sendable {
        /// The name as in the token; compared without ASCII case.
        package var upstream: String
        package var subject: String

        package init(upstream: String, subject: String) {
            self.upstream = upstream
            self.subject = subject
        }
    }

    /// Determines the identity once the provider's row is read.
    package var provider: ProviderName
    package var trigger: Attempt.Trigger
    /// The address as sent; `nil` if missing.
    package var email: String?
    /// `nil` if the claim is absent, which is different from an explicit false.
    package var emailVerified: Bool?
    /// Further addresses that the provider verified for this account. If one of them was invited,
    /// it replaces `email` before anything is locked. None of them is stored.
    package var otherEmails: [String] = []
    /// Whether two of the addresses are invited in the requested tenant, and the primary one is
    /// not.
    var isAddressOpen = false
    /// Why the provider could not be asked for the address; `nil` if it answered or was not asked.
    package var addressFault: String?
    /// Google's `hd`; `nil` if absent.
    package var hostedDomain: String?
    /// The person's name. It is shortened if too long, and invisible characters are removed, so
    /// that it cannot cause a refusal.
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
    /// The id or slug of the requested tenant.
    package var tenant: String?
    /// Where `tenant` comes from, shown in the trace; `.attempt` means that the request itself
    /// named it.
    package var tenantSource: AskedTenant.Source = .attempt
    /// The token as sent; the rules refuse unknown tokens.
    package var inviteToken: String?
    /// The hash of a token that the entry point did not keep; its tenant is then the requested one.
    package var inviteHash: [UInt8]?
    /// The token as sent; the rules refuse unknown tokens.
    package var joinToken: String?
    /// The hash of a join link's token that the entry point did not keep; its tenant is then the
    /// requested one.
    package var joinHash: [UInt8]?
    /// An operator's one-time permission to link this identity to a user.
    package var linkGrant: String?
    /// The OAuth client that started the sign-in; nil if the caller names none.
    package var clientID: String?
    /// The caller's name of this event. A retry with the same name gets the recorded answer.
    package var eventID: String?
    /// The tenant of the caller's credential; `nil` for the platform's.
    package var caller: UUID?
    /// Whether the person calls directly, with a provider's token or at a page of this server, and
    /// not through a hook.
    package var isInPerson = false
    /// The only provider that the credential may name; `nil` if it may name any that the caller
    /// may.
    package var onlyProvider: UUID?
    /// The pool's `sub`: it shows who currently owns a native user name, and is an alias of the
    /// identity.
    package var alias: PoolAlias?
    /// Further names of one federated user, in the order of the token. The first known one
    /// identifies the user, otherwise the one in `provider`.
    package var otherNames: [FederatedName] = []
    /// The PHC string of the password of a password identity.
    package var passwordHash: String?
    /// When the provider's token was issued; `nil` without a token, such as for a hook.
    package var tokenTime: TokenTime?
    /// The call runs only to complete the reservation of a native sign-up.
    package var needsReservation = false

    /// The longest name, in Unicode scalars: as much as Cognito stores of an attribute.
    package static let nameLimit = 2048

    /// Everything else starts unset; the entry point fills it in.
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

    /// Both values as the pool sent them.
    package init(pool: String, sub: String) {
        self.pool = pool
        self.sub = sub
    }
}

/// The result of one call.
package struct ProvisioningResult: Sendable {
    /// What the rules decided, or the recorded decision of a retry.
    package var verdict: Verdict
    /// `nil` in a dry run.
    package var decisionID: UUID?
    /// Six characters that find the decision; empty in a dry run.
    package var reference: String
    package var user: UserRow?
    /// `nil` if no tenant was found or the choice is open.
    package var tenant: TenantRow?
    /// The tenants to choose from.
    package var choices: [TenantRow]
    /// The identity that the decision used or linked; `nil` if there is none.
    package var identityID: UUID?
    /// For a refused dry run: what would admit the attempt, from the facts that were read.
    package var wouldAdmit: [NearestYes]?
    /// Whether the attempt's address is valid, and whether the provider is trusted to prove it.
    var isAddressSound = false
    var isAddressTrusted = false
    /// The text from `render`, which is recorded for retries.
    package var answer: String
}

extension ProvisioningResult {
    /// The refusal's reason as shown to a person who calls directly.
    package var publicReason: Reason { verdict.publicReason ?? verdict.reason ?? .approvalPending }

    /// The result as shown to a person who calls directly: user and tenant only on success, and for
    /// a refusal only the public reason and the reference. The recorded decision has everything.
    package var publicView: ProvisioningResult {
        guard verdict.outcome == .refused else { return self }
        let verdict = Verdict(.refused, reason: publicReason)
        return ProvisioningResult(
            verdict: verdict, decisionID: decisionID, reference: reference, user: nil, tenant: nil,
            choices: [], identityID: nil, answer: answer)
    }
}

extension ProvisioningCall {
    /// Adopts the token of the page on which the sign-in began.
    package mutating func bring(_ token: BroughtToken?) {
        switch token {
        case .invite(let hash): inviteHash = hash
        case .join(let hash): joinHash = hash
        case nil: break
        }
    }

    /// The owner of retries and limits: other callers neither repeat nor use up these.
    var callerName: String { isInPerson ? "person" : (caller ?? .platform).description }

    /// The keys that attempts of one person share before resolution: the subject and the address.
    /// They are coarser than the row locks, never finer.
    var personKeys: [String] {
        let addresses = Set([email].compactMap(\.self) + otherEmails).map(Self.addressKey)
        return [subjectKey] + addresses.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The key of the address that the decision uses; `nil` without one.
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

    /// The key of the subject at the provider, as the call names it.
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

/// A call with its names resolved: its provider, its tenants and its identity.
struct ResolvedAttempt: Sendable {
    var attempt: Attempt
    var provider: Provider?
    var asked: [AskedTenant] = []
    /// Tenants to which the locators of the tokens may belong.
    var tokenTenants: [UUID] = []
    var tokenHash: [UInt8]?
    var joinHash: [UInt8]?
    /// The callers whose reservations count, in order of precedence.
    var reservers: [UUID] = []
}

extension ProvisioningCall {
    /// Whether the provider is not the one that the call names, or an upstream is missing: a
    /// federated user's name without an upstream matches neither a federated nor a native user.
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
