import Text

/// One attempt of a person to sign in or sign up, with all inputs already parsed.
package struct Attempt: Sendable, Equatable {
    /// What started the attempt. Some rules apply only to some triggers.
    package enum Trigger: String, Sendable, CaseIterable {
        /// A sign-in at a provider, reported by a hook, an id token or a client contract.
        case federated
        /// A sign-up at a Cognito pool itself (native). The person's mailbox is not proved yet.
        case nativeSignUp = "native_sign_up"
        /// The creation of a native user (the pool's own) by an administrator in the vendor's
        /// console.
        case nativeAdminCreate = "native_admin_create"
        /// A native user (the pool's own) whose mailbox the Cognito pool has already proved.
        case nativeProved = "native_proved"
        /// A person set a password at the page that accepts an invite.
        case invitePage = "invite_page"

        /// Whether the attempt is a native sign-up without a proved mailbox. If the rules admit the
        /// person, only a reservation is written, and no user yet.
        package var isUnprovedNative: Bool { self == .nativeSignUp || self == .nativeAdminCreate }
    }

    /// The address after parsing. The rules refuse a missing and a malformed address with different
    /// reasons.
    package enum Address: Sendable, Equatable {
        case missing, malformed
        case parsed(Email)
    }

    /// What started the attempt. It decides which rules apply and how far the address is trusted.
    package var trigger: Trigger
    /// Provider, issuer and subject of the sign-in.
    package var identity: IdentityKey
    /// The name of the provider behind the Cognito pool (the upstream); nil for other providers.
    package var upstream: String?
    /// The address as the provider sent it. It does not count as proved by itself; see
    /// `AddressTrust`.
    package var address: Address
    /// The provider's claim that the address is verified; `nil` if the provider makes no such
    /// claim, which is not the same as false.
    package var emailVerified: Bool?
    /// Whether it is undecided which of the person's addresses counts. This is so if the provider
    /// verified several addresses, and the requested tenant has invited two or more of them, but
    /// not the primary one.
    package var isAddressOpen = false
    /// Why the address could not be fetched from the provider. It is only written into the trace.
    package var addressFault: String?
    /// Google's claim `hd` (the organization's domain), as an A-label.
    package var hostedDomain: String?
    /// The OAuth client that started the sign-in; nil if the caller names none.
    package var clientID: String?
    /// Whether the caller sent an invite token, even one that does not exist.
    package var hasInviteToken: Bool
    /// Whether the caller sent a join link's token, even one that does not exist.
    package var hasJoinToken = false

    /// Creates the attempt; the defaults describe a federated sign-in without further inputs.
    package init(
        trigger: Trigger, identity: IdentityKey, upstream: String? = nil, address: Address,
        emailVerified: Bool? = nil, hostedDomain: String? = nil, clientID: String? = nil,
        hasInviteToken: Bool = false
    ) {
        self.trigger = trigger
        self.identity = identity
        self.upstream = upstream
        self.address = address
        self.emailVerified = emailVerified
        self.hostedDomain = hostedDomain
        self.clientID = clientID
        self.hasInviteToken = hasInviteToken
    }

    package var email: Email? { if case .parsed(let email) = address { email } else { nil } }
}

/// What identifies a sign-in: provider, issuer and subject, never the email address. Keys are
/// compared by their bytes.
package struct IdentityKey: Sendable, Hashable, CustomStringConvertible {
    /// The kind of provider: `google`, `github`, `oidc`, `cognito` or `password`.
    package var provider: ProviderKind
    package var issuer: String
    package var subject: String

    package init(provider: ProviderKind, issuer: String, subject: String) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
    }

    /// Whether the identity belongs to a user of the Cognito pool itself, who chose the user name.
    /// The issuer shows it: for a user from an upstream, the issuer contains a slash.
    package var isNativeName: Bool { provider == .cognito && !issuer.utf8.contains(0x2F) }

    package static func == (left: IdentityKey, right: IdentityKey) -> Bool {
        left.provider == right.provider && sameBytes(left.issuer, right.issuer)
            && sameBytes(left.subject, right.subject)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(provider)
        for byte in issuer.utf8 { hasher.combine(byte) }
        hasher.combine(UInt8(0xFF))
        for byte in subject.utf8 { hasher.combine(byte) }
    }

    package var description: String { "\(provider.rawValue) \(issuer) \(subject)" }
}
