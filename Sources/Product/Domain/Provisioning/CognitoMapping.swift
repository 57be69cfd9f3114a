/// What of a Cognito event or id token names the person. All fields are decoded already.
package enum CognitoMapping {
    package enum Trigger: String, Sendable, CaseIterable {
        case signUp = "PreSignUp_SignUp"
        case adminCreateUser = "PreSignUp_AdminCreateUser"
        case externalProvider = "PreSignUp_ExternalProvider"
        case confirmSignUp = "PostConfirmation_ConfirmSignUp"
    }

    /// An attribute as the JSON held it.
    package enum Claim: Sendable, Equatable {
        case absent, other
        case text(String)
        case bool(Bool)
    }

    package struct Person: Sendable, Equatable {
        package var identity: IdentityKey
        /// nil for a native user.
        package var upstream: String?

        package init(identity: IdentityKey, upstream: String? = nil) {
            self.identity = identity
            self.upstream = upstream
        }
    }

    /// Google behind a platform's own pool is Google, without being told so.
    private static let googleIssuer = "https://accounts.google.com"

    /// A user name is taken apart only for a federated trigger; a native one is the client's choice
    /// and may be made to look federated. nil: nothing before or after the first `_`.
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

    package static func native(pool: Provider, userName: String) -> Person {
        Person(
            identity: IdentityKey(provider: .cognito, issuer: pool.issuer, subject: userName))
    }

    /// One entry of an id token's `identities` (`providerName`, `userId`), or an event's user name.
    package static func federated(pool: Provider, upstream: String, subject: String) -> Person {
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
                provider: .cognito, issuer: pool.issuer,
                subject: asciiLowercased(upstream) + "_" + subject),
            upstream: upstream)
    }

    /// The pool that issued an id token: the last path segment of `iss`.
    package static func pool(issuer: String) -> String? {
        let bytes = Array(issuer.utf8)
        guard let slash = bytes.lastIndex(of: 0x2F), slash + 1 < bytes.count else { return nil }
        return String(decoding: bytes[(slash + 1)...], as: UTF8.self)
    }

    /// Only `true` in any ASCII case and the JSON boolean count; anything else that is there is
    /// false, and an absent claim stays absent.
    package static func emailVerified(_ claim: Claim) -> Bool? {
        switch claim {
        case .absent: nil
        case .text(let text): sameBytesIgnoringASCIICase(text, "true")
        case .bool(let value): value
        case .other: false
        }
    }
}
