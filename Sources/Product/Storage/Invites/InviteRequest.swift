import Domain
import Text

/// A request for an invite, its input checked.
package struct InviteRequest: Sendable {
    /// Compared with pending invites by its key.
    package var email: EmailAddress
    /// nil: `defaultRole` for a new invite, and a pending one keeps its own.
    package var role: UserRole?
    /// nil: the policy's default.
    package var defaultRole: UserRole?
    /// Exclusive; nil: `Invite.defaultLifetime` from now.
    package var expiresAt: Timestamp?
    /// Text for the mail; nil: none, and a renewed invite keeps its own.
    package var message: String?
    /// `mail` is checked against the mail limits before anything is written.
    package var delivery: Invite.Delivery
    /// A pending invite gets a new token instead of being returned as it is.
    package var resend: Bool
    /// A pending invite gets `role` in place of its own, and keeps its token.
    package var rolePrevails = false
    /// The id that the user who accepts it gets.
    package var externalID: String?
    /// What the user who accepts it gets; a pending one gets them merged into its own by `resend`.
    package var attributes = AttributePair()
    /// Where the acceptance page leads in the end; nil: nowhere, and a renewed invite keeps its own.
    package var returnTo: String?
    /// The widest role that the inviter may give; nil: none.
    package var widest: UserRole?
    /// What the inviter lacks to give an admin; for the refusal.
    package var lacks: [String] = []
    /// When the invite ends at the latest: with the key that makes it. Nil: not limited.
    package var latest: Timestamp?
    /// What the policy's quotas still allow, asked once for a whole list; nil: asked for this one.
    package var quotas: InviteQuotas?
    /// How many mails the tenant may still cause; as in `Change.mailsLeft`.
    package var mailsLeft = MailLimit.ofTenant

    /// `widest` nil refuses every role.
    package init(
        email: EmailAddress, role: UserRole? = nil, expiresAt: Timestamp? = nil,
        message: String? = nil, delivery: Invite.Delivery = .link, resend: Bool = false,
        widest: UserRole?
    ) {
        self.email = email
        self.role = role
        self.expiresAt = expiresAt
        self.message = message
        self.delivery = delivery
        self.resend = resend
        self.widest = widest
    }
}

/// The result of asking for an invite.
package struct InviteResult: Sendable {
    /// `existing`: a pending invite is returned without a token.
    package enum Outcome: String, Sendable { case created, existing, resent }

    package var outcome: Outcome
    package var invite: InviteRow
    /// Shown once; nil for an existing invite.
    package var token: String?

    package init(outcome: Outcome, invite: InviteRow, token: String? = nil) {
        self.outcome = outcome
        self.invite = invite
        self.token = token
    }
}

/// Refusals of an invite that are not conflicts.
package enum InviteRefusal: Error, Sendable, Equatable {
    /// The address is outside the policy's `allowed_domains`.
    case outsideDomains
    /// The address is on the policy's block list, by this member.
    case blocked(by: String)
    /// A quota of the policy, by its member, is used up.
    case quota(String, limit: Int, seconds: Int64)
    /// The inviter may not give the role, and lacks this to give an admin.
    case roleTooWide(lacks: [String])
}
