/// A person who signs in to the console, at the platform or at one tenant.
package enum Operator {
    package enum Role: String, Sendable, CaseIterable {
        case owner, admin, developer, support, auditor
    }

    package enum Status: String, Sendable, CaseIterable { case pending, active, suspended }

    /// False for the last owner of a scope. `owners`: the number of active owners of the same
    /// scope.
    package static func mayLeave(_ role: Role, becoming next: Role?, owners: Int) -> Bool {
        role != .owner || next == .owner || owners > 1
    }
}

/// Limits and words of operators' passkeys.
package enum Passkey {
    /// Of one operator.
    package static let most = 20
    /// Seconds in which a challenge is answered.
    package static let challengeSeconds: Int64 = 300
    /// Challenges of one session that wait at once: one for each open page.
    package static let mostChallenges = 8

    /// What a challenge is for: none serves for another.
    package enum Purpose: String, Sendable, CaseIterable {
        case registration
        case signIn = "sign_in"
        case stepUp = "step_up"
    }
}

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
