/// A person who signs in to the console, at the platform or at one tenant.
package enum Operator {
    package enum Role: String, Sendable, CaseIterable {
        case owner, admin, developer, support, auditor
    }

    package enum Status: String, Sendable, CaseIterable { case pending, active, suspended }

    /// Returns whether an operator with the role `role` may change to the role `next`, or may be
    /// removed if `next` is nil. False if that would leave the platform or the tenant without an
    /// owner; `owners` is the number of its active owners.
    package static func mayLeave(_ role: Role, becoming next: Role?, owners: Int) -> Bool {
        role != .owner || next == .owner || owners > 1
    }
}

/// Limits and purposes of operators' passkeys.
package enum Passkey {
    /// The most passkeys of one operator.
    package static let most = 20
    /// Seconds within which a challenge must be answered.
    package static let challengeSeconds: Int64 = 300
    /// The most unanswered challenges of one session at the same time: one for each open page.
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
    /// Set up a password or a passkey now; the session began with a sign-in link, which permits
    /// this.
    case setUp = "set_up"
    /// `POST /v1/session/link` mails a new link to the operator's own address.
    case mailLink = "mail_link"
    /// Sign out, then sign in again at the provider; no data is lost.
    case signInAgain = "sign_in_again"
    /// Have the server's administrator run `gatehouse operator reset`.
    case operatorReset = "operator_reset"
}

/// The method by which a console session began or was last stepped up.
package enum SignInMethod: String, Sendable, CaseIterable {
    case password, totp
    case recoveryCode = "recovery_code"
    case passkey, provider, link
    /// A sign-in at a provider, which reported the use of a second factor.
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
