import Domain

/// Why an invite or a join link admits no one. The holder of its token was invited and may know the
/// reason.
package enum UnacceptedInvite {
    static let unknown = Problem(.inviteUnknown, "The link is not valid; ask for a new one.")

    static let unknownJoinLink = Problem(.joinUnknown, "The link is not valid; ask for a new one.")

    /// `reference` finds the decision.
    package static func problem(_ reason: Reason, reference: String) -> Problem {
        let detail =
            switch reason {
            case .inviteUnknown: unknown.detail
            case .inviteUsed: "The invite was used already; sign in instead."
            case .inviteRevoked: "The invite was taken back."
            case .inviteExpired: "The invite is over; ask for a new one."
            case .inviteEmailMismatch:
                "The invite is for another address. Sign in with the address that was invited."
            case .joinUnknown: unknownJoinLink.detail
            case .joinRevoked: "The link was taken back."
            case .joinExpired: "The link is over; ask for a new one."
            case .joinUsedUp: "The link has let in as many people as it may; ask for a new one."
            case .emailMissing, .emailInvalid, .emailUnverified:
                "The provider does not vouch for your address. Choose a password, or another way."
            case .notInvited: "The tenant does not take this address now."
            case .userSuspended: "The account is suspended."
            case .tenantSuspended, .tenantDeleted: "The tenant takes nobody in now."
            case .identityLinkRequired:
                "The account is active already; sign in and add the password there."
            default: PublicRefusal.text(reference: reference)
            }
        var problem = Problem(Code(rawValue: reason.rawValue) ?? .forbidden, detail)
        problem.cause = "sign-in: \(reason.rawValue), ref \(reference)"
        return problem
    }
}
