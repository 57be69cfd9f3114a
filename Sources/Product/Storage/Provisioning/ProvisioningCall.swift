import Domain
import Postgres
import Text

/// A provisioning request before its tenant and provider have been looked up.
package struct ProvisioningCall: Sendable {
    /// How the call names its provider.
    package enum ProviderName: Sendable {
        /// The call names the provider by its kind or by its registered id, with the issuer if the
        /// caller gave one.
        case attempt(String, issuer: String?, subject: String)
        /// The call names a Cognito pool. The pool's event determines the identity.
        case pool(String, CognitoMapping.Trigger, userName: String)
        /// The call names a Cognito pool by the pool's id token. The token's user comes from an
        /// upstream.
        case federated(pool: String, FederatedName)
    }

    /// One entry of `identities` in a pool's id token.
    package struct FederatedName: Sendable {
        /// The upstream's name as in the token. Comparisons ignore ASCII case.
        var upstream: String
        var subject: String

        package init(upstream: String, subject: String) {
            self.upstream = upstream
            self.subject = subject
        }
    }

    /// The provider and the subject as the call names them. The identity follows from them once the
    /// provider's row is read.
    var provider: ProviderName
    var trigger: Attempt.Trigger
    /// The address as it was sent; `nil` if missing.
    package var email: String?
    /// The claim `email_verified`; `nil` if it is absent, which is not the same as false.
    package var emailVerified: Bool?
    /// Further addresses of the account that the provider verified; they are never stored. If one
    /// of them was invited, it replaces `email` before anything is locked.
    package var otherEmails: [String] = []
    /// Whether at least two addresses, but not the primary one, are invited in the requested
    /// tenant, so that none could be chosen.
    var isAddressOpen = false
    /// Why the provider could not be asked for the address; `nil` if it answered or if no request
    /// was needed.
    package var addressFault: String?
    /// Google's claim `hd`, the domain of the person's organisation; `nil` if absent.
    package var hostedDomain: String?
    /// The person's name. A name that is too long is shortened, and invisible characters are
    /// removed, so that no name causes a refusal.
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
    /// The id or slug of the requested tenant; `nil` if none is requested.
    package var tenant: String?
    /// The source that named the requested tenant, for the trace; `.attempt` means the request
    /// itself.
    package var tenantSource: AskedTenant.Source = .attempt
    /// The token of an invite as it was sent; the rules refuse unknown tokens.
    package var inviteToken: String?
    /// The hash of an invite's token, if the caller stored only the hash. The invite then belongs
    /// to the requested tenant.
    var inviteHash: [UInt8]?
    /// The token of a join link as it was sent; the rules refuse unknown tokens.
    package var joinToken: String?
    /// The hash of a join link's token, if the caller stored only the hash. The join link then
    /// belongs to the requested tenant.
    var joinHash: [UInt8]?
    /// The token of a link grant: an operator's permission to link an identity to a user, once.
    package var linkGrant: String?
    /// The OAuth client that started the sign-in; nil if the caller names none.
    package var clientID: String?
    /// The caller's own id of this event. A retry with the same id gets the recorded answer.
    package var eventID: String?
    /// The tenant of the caller's credential; `nil` if the credential is the platform's.
    package var caller: UUID?
    /// Whether the person makes the call, with a provider's token or at a page of this server.
    /// False if a hook makes it.
    package var isInPerson = false
    /// The only provider that the credential permits; `nil` if it permits all that its owner may
    /// name.
    package var onlyProvider: UUID?
    /// The user's `sub` in the pool. It shows who currently owns a native user name, and is an
    /// alias of the identity.
    package var alias: PoolAlias?
    /// Further names of one federated user, in the order of the token. The first name whose
    /// identity is stored identifies the user; if there is none, the name in `provider` does.
    package var otherNames: [FederatedName] = []
    /// The password's PHC string, if the identity is a password identity.
    var passwordHash: String?
    /// When the provider's token was issued; `nil` without a token, as in a hook's call.
    package var tokenTime: TokenTime?
    /// Whether the call only completes the reservation of a native sign-up, and so does nothing if
    /// there is no reservation.
    package var needsReservation = false

    /// The maximum number of Unicode scalars of a name. Cognito stores at most as many of an
    /// attribute.
    package static let nameLimit = 2048

    /// Sets the provider and the trigger; everything else is nil or empty until it is assigned.
    package init(provider: ProviderName, trigger: Attempt.Trigger = .federated) {
        self.provider = provider
        self.trigger = trigger
    }
}

/// The `sub` of a user in one pool.
package struct PoolAlias: Sendable {
    /// The pool's id, as in the token's issuer.
    var pool: String
    /// A UUID as AWS writes it. Comparisons are byte for byte.
    var sub: String

    /// Takes both values as the pool sent them.
    package init(pool: String, sub: String) {
        self.pool = pool
        self.sub = sub
    }
}

/// The result of one call.
package struct ProvisioningResult: Sendable {
    /// What the rules decided. For a retry, this is the recorded decision of the earlier call.
    package var verdict: Verdict
    /// The id of the recorded decision; `nil` in a dry run.
    package var decisionID: UUID?
    /// Six characters by which the decision can be found; empty in a dry run.
    package var reference: String
    package var user: UserRow?
    /// The tenant; `nil` if none was found, or if the person has not yet chosen one.
    package var tenant: TenantRow?
    /// The tenants among which the person may choose.
    package var choices: [TenantRow]
    /// The identity that was found or linked; `nil` if there is none.
    package var identityID: UUID?
    /// For a refused dry run, the changes that would admit the attempt; otherwise `nil`.
    package var wouldAdmit: [NearestYes]?
    /// Whether the attempt's address is valid, and whether the provider is trusted to prove it.
    var isAddressSound = false
    var isAddressTrusted = false
    /// The response that `render` made, which is recorded for retries.
    package var answer: String
}

extension ProvisioningResult {
    /// The reason of a refusal that a person who calls directly may see.
    package var publicReason: Reason { verdict.publicReason ?? verdict.reason ?? .approvalPending }

    /// The result that a person who calls directly may see: the user and the tenant only on
    /// success, and for a refusal only the public reason and the reference. The recorded decision
    /// has everything.
    package var publicView: ProvisioningResult {
        guard verdict.outcome == .refused else { return self }
        let verdict = Verdict(.refused, reason: publicReason)
        return ProvisioningResult(
            verdict: verdict, decisionID: decisionID, reference: reference, user: nil, tenant: nil,
            choices: [], identityID: nil, answer: answer)
    }
}

extension ProvisioningCall {
    /// Takes over the token of the invite or join link on whose page the sign-in began.
    package mutating func bring(_ token: BroughtToken?) {
        switch token {
        case .invite(let hash): inviteHash = hash
        case .join(let hash): joinHash = hash
        case nil: break
        }
    }

    /// The name under which the retries and the limits of the call are counted. Callers with
    /// different names do not affect each other.
    var callerName: String { isInPerson ? "person" : (caller ?? .platform).description }

    /// The keys of `PersonLock` for this call: the subject and the addresses. They are known before
    /// anything is read. Two calls that lock the same row always share a key, but two calls that
    /// share a key need not lock the same row.
    var personKeys: [String] {
        let addresses = Set([email].compactMap(\.self) + otherEmails).map(Self.addressKey)
        return [subjectKey] + addresses.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The key for the address of the call; `nil` if it has none.
    var addressKey: String? { email.map(Self.addressKey) }

    private static func addressKey(_ email: String) -> String {
        "address " + ((try? EmailAddress(email))?.key ?? email)
    }

    /// The email keys of the further addresses, in the order of their bytes.
    var otherKeys: [String] {
        Set(otherEmails.compactMap { try? EmailAddress($0).key }).sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
    }

    /// The key for the subject at the provider, as the call names them.
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

/// A call after its provider, its tenants and its identity were looked up.
struct ResolvedAttempt: Sendable {
    var attempt: Attempt
    var provider: Provider?
    var asked: [AskedTenant] = []
    /// The tenants that may have issued the call's tokens. They are found by the locators in the
    /// tokens.
    var tokenTenants: [UUID] = []
    var tokenHash: [UInt8]?
    var joinHash: [UInt8]?
    /// The callers whose reservations this call may use, in order of precedence.
    var reservers: [UUID] = []
}

extension ProvisioningCall {
    /// Whether the registered provider is not the one that the call names, or the name of a
    /// federated user lacks its upstream. Without an upstream, the user would be neither federated
    /// nor native.
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
