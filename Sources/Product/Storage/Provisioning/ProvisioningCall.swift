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
    }

    package var provider: ProviderName
    package var trigger: Attempt.Trigger
    /// As it was sent; nil is missing.
    package var email: String?
    package var emailVerified: Bool?
    package var hostedDomain: String?
    package var name: String?
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
    /// The only provider that the credential speaks for; nil: any that the caller may name.
    package var onlyProvider: UUID?
    /// A second name of the identity at its issuer, by which it is found as well.
    package var alias: String?
    /// More names of one federated user, in the order of their provider's token: the first that is
    /// known names the person, else the one of `provider`.
    package var otherUserNames: [String] = []
    /// The PHC string of the password that comes with a password identity.
    package var passwordHash: String?
    /// When the provider's token was issued; nil where none came along, as with a hook.
    package var tokenTime: TokenTime?
    /// Run only to complete what a native sign-up reserved.
    package var needsReservation = false

    package init(provider: ProviderName, trigger: Attempt.Trigger = .federated) {
        self.provider = provider
        self.trigger = trigger
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
    /// Whether the attempt's address is one, and whether the provider vouches for it.
    var isAddressSound = false
    var isAddressVouched = false
    /// What `render` made of it, the recorded text for a retry.
    package var answer: String
}

extension ProvisioningCall {
    /// What tries of one person have in common before anything is looked up: the subject, and the
    /// address. Coarser than the locks of the rows, never finer.
    var personKeys: [String] {
        var subject: String
        switch provider {
        case .attempt(_, _, let named): subject = named
        case .pool(_, .externalProvider, let userName):
            subject = userName.split(separator: "_", maxSplits: 1).last.map(String.init) ?? userName
        case .pool(_, _, let userName): subject = userName
        }
        subject = "subject " + subject
        guard let email else { return [subject] }
        return [subject, "address " + ((try? EmailAddress(email))?.key ?? email)]
    }
}
