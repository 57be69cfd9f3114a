import Text

/// One provisioning attempt, already parsed.
package struct Attempt: Sendable, Equatable {
    /// The entry point, as far as the rules depend on it.
    package enum Trigger: String, Sendable, CaseIterable {
        /// A provider's sign-in: a hook, an id token, a client contract.
        case federated
        /// A native sign-up whose mailbox is not proved yet.
        case nativeSignUp = "native_sign_up"
        /// A native user that an operator created in the vendor's console.
        case nativeAdminCreate = "native_admin_create"
        /// The same native user after the vendor has proved the mailbox.
        case nativeProved = "native_proved"
        /// A password set at the invite's acceptance page.
        case invitePage = "invite_page"

        /// Whether it is a native sign-up without a proved mailbox: a success is reserved, not
        /// written.
        package var isUnprovedNative: Bool { self == .nativeSignUp || self == .nativeAdminCreate }
    }

    /// The address after parsing. The rules refuse a missing and a malformed one with different
    /// reasons.
    package enum Address: Sendable, Equatable {
        case missing, malformed
        case parsed(Email)
    }

    /// Decides which rules apply and how far the address is trusted.
    package var trigger: Trigger
    /// Provider, issuer and subject of the sign-in.
    package var identity: IdentityKey
    /// The Cognito upstream's name; nil for other providers.
    package var upstream: String?
    /// The address, which is not proved by itself; see `AddressTrust`.
    package var address: Address
    /// `nil` if the claim is absent, which is different from an explicit false.
    package var emailVerified: Bool?
    /// Whether the provider verified several addresses, two of them are invited in the requested
    /// tenant, and the primary one is not.
    package var isAddressOpen = false
    /// Why the provider could not be asked for the address; only for the trace.
    package var addressFault: String?
    /// Google's `hd`, an A-label.
    package var hostedDomain: String?
    /// The OAuth client that started the sign-in; nil if the caller names none.
    package var clientID: String?
    /// Whether the caller sent an invite token, known or not.
    package var hasInviteToken: Bool
    /// Whether the caller sent a join link's token, known or not.
    package var hasJoinToken = false

    /// The defaults describe a federated sign-in without hints.
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

/// The key of a sign-in: provider, issuer and subject, never the email. Compared by bytes.
package struct IdentityKey: Sendable, Hashable, CustomStringConvertible {
    /// The kind: `google`, `github`, `oidc`, `cognito`, `password`.
    package var provider: ProviderKind
    package var issuer: String
    package var subject: String

    package init(provider: ProviderKind, issuer: String, subject: String) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
    }

    /// Whether it is a pool's own user, who chose the name; users of an upstream have another
    /// issuer.
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
