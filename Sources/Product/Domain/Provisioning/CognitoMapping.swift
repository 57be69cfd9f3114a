import Text

/// Maps a Cognito event or id token to an identity. All fields are already decoded.
package enum CognitoMapping {
    /// `triggerSource` of a Cognito Lambda event, as AWS spells it.
    package enum Trigger: String, Sendable, CaseIterable {
        case signUp = "PreSignUp_SignUp"
        case adminCreateUser = "PreSignUp_AdminCreateUser"
        case externalProvider = "PreSignUp_ExternalProvider"
        case confirmSignUp = "PostConfirmation_ConfirmSignUp"
    }

    package enum Claim: Sendable, Equatable {
        case absent, other
        case text(String)
        case bool(Bool)
    }

    /// The person whom an event or a token names.
    package struct Person: Sendable, Equatable {
        /// The person's identity. For a mapped upstream it is the identity at the upstream.
        /// Otherwise its issuer is the pool's id, or begins with the pool's id.
        package var identity: IdentityKey
        /// The upstream's name; `nil` for a native user.
        package var upstream: String?

        /// Creates the person; `upstream` is nil for a native user.
        init(identity: IdentityKey, upstream: String? = nil) {
            self.identity = identity
            self.upstream = upstream
        }
    }

    /// The issuer for an upstream that is named `Google` and is not mapped. In the platform's own
    /// pools such an upstream counts as Google.
    private static let googleIssuer = "https://accounts.google.com"

    /// Returns the person whom an event names; nil if a part of the name is empty. For a federated
    /// trigger the user name is split at its first `_`. For other triggers it is not split, since
    /// clients choose native user names and could imitate federated ones.
    package static func person(pool: Provider, trigger: Trigger, userName: String) -> Person? {
        switch trigger {
        case .signUp, .adminCreateUser, .confirmSignUp:
            return userName.utf8.isEmpty ? nil : native(pool: pool, userName: userName)
        case .externalProvider:
            let bytes = Array(userName.utf8)
            guard let at = bytes.firstIndex(of: 0x5F), at > 0, at + 1 < bytes.count else {
                return nil
            }
            return federated(
                pool: pool, upstream: String(decoding: bytes[..<at], as: UTF8.self),
                subject: String(decoding: bytes[(at + 1)...], as: UTF8.self))
        }
    }

    /// Returns the person for a user of the pool itself. The issuer is the pool's id, and the
    /// subject is the user name, byte for byte.
    package static func native(pool: Provider, userName: String) -> Person {
        Person(identity: IdentityKey(provider: .cognito, issuer: pool.issuer, subject: userName))
    }

    /// Returns the person for a user of an upstream. `upstream` and `subject` come from an entry of
    /// an id token's `identities` (`providerName`, `userId`), or from an event's user name. An
    /// upstream that is not mapped gets its own issuer, `<pool>/<upstream>`, so that its users are
    /// never confused with the pool's own users, who choose their names. Returns nil if `upstream`
    /// cannot be an upstream's name: AWS allows no `_` in it.
    package static func federated(pool: Provider, upstream: String, subject: String) -> Person? {
        guard !upstream.utf8.isEmpty, !upstream.utf8.contains(0x5F), !subject.utf8.isEmpty else {
            return nil
        }
        if let listed = pool.upstream(named: upstream), let kind = listed.kind,
            let issuer = listed.issuer
        {
            return Person(
                identity: IdentityKey(provider: kind, issuer: issuer, subject: subject),
                upstream: upstream)
        }
        let isDefaultGoogle =
            pool.tenantID == nil && pool.upstream(named: upstream)?.kind == nil
            && sameBytesIgnoringASCIICase(upstream, "google")
        if isDefaultGoogle {
            return Person(
                identity: IdentityKey(provider: .google, issuer: googleIssuer, subject: subject),
                upstream: upstream)
        }
        return Person(
            identity: IdentityKey(
                provider: .cognito, issuer: "\(pool.issuer)/\(asciiLowercased(upstream))",
                subject: subject),
            upstream: upstream)
    }

    package static func parts(ofIssuer issuer: String) -> (pool: String, upstream: String?) {
        let bytes = Array(issuer.utf8)
        guard let slash = bytes.firstIndex(of: 0x2F) else { return (issuer, nil) }
        return (
            String(decoding: bytes[..<slash], as: UTF8.self),
            String(decoding: bytes[(slash + 1)...], as: UTF8.self)
        )
    }

    /// Returns a pool's issuer as it is stored: with the upstream's name in ASCII lower case.
    package static func canonical(issuer: String) -> String {
        let (pool, upstream) = parts(ofIssuer: issuer)
        return upstream.map { "\(pool)/\(asciiLowercased($0))" } ?? pool
    }

    /// Whether a native user name begins like a federated user's: before its first `_` it has the
    /// name of one of these upstreams, in any ASCII case.
    package static func looksFederated(_ userName: String, among upstreams: [String]) -> Bool {
        let bytes = Array(userName.utf8)
        guard let at = bytes.firstIndex(of: 0x5F) else { return false }
        let start = String(decoding: bytes[..<at], as: UTF8.self)
        return upstreams.contains { sameBytesIgnoringASCIICase($0, start) }
    }

    /// Returns the id of the pool that issued an id token: the last path segment of `iss`.
    package static func pool(issuer: String) -> String? {
        let bytes = Array(issuer.utf8)
        guard let slash = bytes.lastIndex(of: 0x2F), slash + 1 < bytes.count else { return nil }
        return String(decoding: bytes[(slash + 1)...], as: UTF8.self)
    }

    /// Returns the value of the claim: true for the JSON boolean `true` and for the text `true` in
    /// any ASCII case, false for any other value, nil if the claim is absent.
    package static func emailVerified(_ claim: Claim) -> Bool? {
        switch claim {
        case .absent: nil
        case .text(let text): sameBytesIgnoringASCIICase(text, "true")
        case .bool(let value): value
        case .other: false
        }
    }
}
