/// A person who signs in to the console to administer the platform or one tenant.
package enum Operator {
    package enum Role: String, Sendable, CaseIterable {
        case owner, admin, developer, support, auditor
    }

    package enum Status: String, Sendable, CaseIterable { case pending, active, suspended }

    /// Whether an operator may change from the role `role` to the role `next`; if `next` is nil,
    /// whether the operator may be removed. The last owner of the platform or of a tenant may
    /// neither change their role nor be removed. `owners` is the number of active owners.
    package static func mayLeave(_ role: Role, becoming next: Role?, owners: Int) -> Bool {
        role != .owner || next == .owner || owners > 1
    }
}

/// Limits and purposes of operators' passkeys.
package enum Passkey {
    /// The maximum number of passkeys of one operator.
    package static let most = 20
    /// Seconds within which a challenge must be answered.
    package static let challengeSeconds: Int64 = 300
    /// The maximum number of unanswered challenges that one session may have at a time. Each open
    /// page needs one challenge.
    package static let mostChallenges = 8

    /// What a challenge is for; it is not valid for any other purpose.
    package enum Purpose: String, Sendable, CaseIterable {
        case registration
        case signIn = "sign_in"
        case stepUp = "step_up"
    }
}

/// A method of step-up: how an operator proves their presence within a session.
package enum StepUpMethod: String, Sendable, CaseIterable {
    case passkey, totp, password, provider
}

/// What an operator can do if no `StepUpMethod` is available to them.
package enum StepUpRemedy: String, Sendable, CaseIterable {
    /// The operator sets up a password or a passkey now. The session permits this, because it began
    /// with a sign-in link.
    case setUp = "set_up"
    /// The operator calls `POST /v1/session/link`, which mails a new sign-in link to the operator's
    /// own address.
    case mailLink = "mail_link"
    /// The operator signs out and signs in again at the provider. No data is lost.
    case signInAgain = "sign_in_again"
    /// The operator asks the server's administrator to run `gatehouse operator reset`.
    case operatorReset = "operator_reset"
}

/// The method by which a console session began or was last stepped up.
package enum SignInMethod: String, Sendable, CaseIterable {
    case password, totp
    case recoveryCode = "recovery_code"
    case passkey, provider, link
    /// A sign-in at a provider that reported the use of a second factor.
    case providerMFA = "provider_mfa"

    /// Whether the method is a second factor that counts for a step-up. A recovery code does not
    /// count.
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
