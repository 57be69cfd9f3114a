/// What proves, within a session, that its operator is present.
package enum StepUpMethod: String, Sendable, CaseIterable {
    case passkey, totp, password, provider
}

/// What leads on for an operator who has none of the methods of a step-up.
package enum StepUpRemedy: String, Sendable, CaseIterable {
    /// A password or a passkey may be set up now, by the strength of the link that signed in.
    case setUp = "set_up"
    /// `POST /v1/session/link` mails a new link to the operator's own address.
    case mailLink = "mail_link"
    /// A sign-out loses nothing: the provider signs in anew.
    case signInAgain = "sign_in_again"
    /// `gatehouse operator reset`, by the server's administrator.
    case operatorReset = "operator_reset"
}

/// How a session of the console began, or was last stepped up.
package enum SignInMethod: String, Sendable, CaseIterable {
    case password, totp
    case recoveryCode = "recovery_code"
    case passkey, provider, link
    /// At the provider, which reported a second factor.
    case providerMFA = "provider_mfa"

    /// Whether it is a proof by a second factor that steps up; a recovery code is none.
    package var isSecondFactor: Bool {
        switch self {
        case .totp, .passkey, .providerMFA: true
        case .password, .recoveryCode, .provider, .link: false
        }
    }

    package init(_ method: StepUpMethod) {
        self =
            switch method {
            case .passkey: .passkey
            case .totp: .totp
            case .password: .password
            case .provider: .provider
            }
    }
}
