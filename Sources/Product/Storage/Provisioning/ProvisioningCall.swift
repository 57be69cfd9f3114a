import Domain
import Text

/// One call of a door, before anything was looked up.
package struct ProvisioningCall: Sendable {
    /// How the door names the provider.
    package enum ProviderName: Sendable {
        /// A kind or a registered id, with the issuer where the caller gave it.
        case attempt(String, issuer: String?, subject: String)
        /// A Cognito pool: the person follows from its event.
        case pool(String, CognitoMapping.Trigger, userName: String)
        /// A pool's id token of a user who came from an upstream.
        case federated(pool: String, FederatedName)
    }

    /// One of a token's `identities`.
    package struct FederatedName: Sendable {
        package var upstream: String
        package var subject: String

        package init(upstream: String, subject: String) {
            self.upstream = upstream
            self.subject = subject
        }
    }

    package var provider: ProviderName
    package var trigger: Attempt.Trigger
    /// As it was sent; nil is missing.
    package var email: String?
    package var emailVerified: Bool?
    package var hostedDomain: String?
    /// What is longer is cut, so that a long name keeps nobody out.
    package var name: String? {
        didSet {
            guard let name, name.unicodeScalars.count > Self.nameLimit else { return }
            self.name = String(
                String.UnicodeScalarView(name.unicodeScalars.prefix(Self.nameLimit)))
        }
    }
    /// Id or slug, and who named it.
    package var tenant: String?
    package var tenantSource: AskedTenant.Source = .attempt
    package var inviteToken: String?
    /// Of a token that the door did not keep; its tenant is then the asked one.
    package var inviteHash: [UInt8]?
    /// An operator's one-time leave to add this sign-in to a user.
    package var linkGrant: String?
    package var clientID: String?
    package var eventID: String?
    /// The tenant that the caller's credential leads to; nil is the platform's.
    package var caller: UUID?
    /// The person calls, with a provider's token or at a page of ours: no hook's credential speaks.
    package var isInPerson = false
    /// The only provider that the credential speaks for; nil: any that the caller may name.
    package var onlyProvider: UUID?
    /// The pool's `sub`: who a native user name stands for now, and an alias of the identity.
    package var alias: PoolAlias?
    /// More names of one federated user, in the order of their provider's token: the first that is
    /// known names the person, else the one of `provider`.
    package var otherNames: [FederatedName] = []
    /// The PHC string of the password that comes with a password identity.
    package var passwordHash: String?
    /// When the provider's token was issued; nil where none came along, as with a hook.
    package var tokenTime: TokenTime?
    /// Run only to complete what a native sign-up reserved.
    package var needsReservation = false

    /// Unicode scalars of a name that are kept, as Cognito keeps of an attribute.
    package static let nameLimit = 2048

    package init(provider: ProviderName, trigger: Attempt.Trigger = .federated) {
        self.provider = provider
        self.trigger = trigger
    }
}

/// The `sub` of a user in one pool.
package struct PoolAlias: Sendable {
    package var pool: String
    package var sub: String

    package init(pool: String, sub: String) {
        self.pool = pool
        self.sub = sub
    }
}

/// What one call came to.
package struct ProvisioningResult: Sendable {
    package var verdict: Verdict
    /// nil in a dry run.
    package var decisionID: UUID?
    /// Six characters that find the decision; empty in a dry run.
    package var reference: String
    package var user: ProvisionedUser?
    package var tenant: TenantRow?
    /// The tenants to choose from.
    package var choices: [TenantRow]
    package var identityID: UUID?
    /// Of a dry run that was refused: what would admit, from the facts that were read.
    package var wouldAdmit: [NearestYes]?
    /// Whether the attempt's address is one, and whether the provider vouches for it.
    var isAddressSound = false
    var isAddressTrusted = false
    /// What `render` made of it, the recorded text for a retry.
    package var answer: String
}

extension ProvisioningResult {
    /// The reason of a refusal as a person who calls in person is told it.
    package var publicReason: Reason { verdict.publicReason ?? verdict.reason ?? .approvalPending }

    /// What a person who calls in person is told: the user and the tenant on success alone, and of
    /// a refusal no more than its told reason and the reference. The recorded decision has it all.
    package var publicView: ProvisioningResult {
        guard verdict.outcome == .refused else { return self }
        let verdict = Verdict(.refused, reason: publicReason)
        return ProvisioningResult(
            verdict: verdict, decisionID: decisionID, reference: reference, user: nil, tenant: nil,
            choices: [], identityID: nil, answer: answer)
    }
}

extension ProvisioningCall {
    /// Under whom retries and limits are kept: another's calls neither repeat nor use up these.
    var callerName: String { isInPerson ? "person" : (caller ?? .platform).description }

    /// What tries of one person have in common before anything is looked up: the subject, and the
    /// address. Coarser than the locks of the rows, never finer.
    var personKeys: [String] {
        guard let email else { return [subjectKey] }
        return [subjectKey, "address " + ((try? EmailAddress(email))?.key ?? email)]
    }

    /// The person's name at the provider, as the call has it.
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
