import Text

/// The key of a sign-in: provider, issuer and subject, never the email. Compared on bytes.
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

    /// True for a pool's own user, who chose the name; an upstream's people have another issuer.
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
