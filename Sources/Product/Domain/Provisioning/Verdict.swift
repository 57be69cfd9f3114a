import Text

/// What the rules decided; raw values are the wire format's `outcome`.
package enum Outcome: String, Sendable, CaseIterable {
    case created, linked, existing, reserved, deferred, refused
}

/// Why the rules refused; raw values are those of the wire format.
package enum Reason: String, Sendable, CaseIterable {
    case emailMissing = "email_missing"
    case emailInvalid = "email_invalid"
    case emailUnverified = "email_unverified"
    case userSuspended = "user_suspended"
    case userDeleted = "user_deleted"
    case tenantSuspended = "tenant_suspended"
    case tenantDeleted = "tenant_deleted"
    case approvalPending = "approval_pending"
    case inviteUnknown = "invite_unknown"
    case inviteExpired = "invite_expired"
    case inviteRevoked = "invite_revoked"
    case inviteUsed = "invite_used"
    case inviteEmailMismatch = "invite_email_mismatch"
    case joinUnknown = "join_unknown"
    case joinExpired = "join_expired"
    case joinRevoked = "join_revoked"
    case joinUsedUp = "join_used_up"
    case identityLinkRequired = "identity_link_required"
    case identityConflict = "identity_conflict"
    case notInvited = "not_invited"
    case noTenant = "no_tenant"
    case providerUnknown = "provider_unknown"
    case tenantChoiceRequired = "tenant_choice_required"
    case emailBlocked = "email_blocked"
    case rateLimited = "rate_limited"
    case unavailable
}

/// A change that storage makes for a verdict. All effects are written in their order, in one
/// transaction.
package enum Effect: Sendable, Equatable {
    /// Removes a user whom no rule can find. No tombstone remains that would block the address.
    case removeUnreachableRow(user: UUID)
    /// Removes the user's passwords, identities, sessions and reset tokens that came without a
    /// proof of the address.
    case wipeUnverifiedCredentials(user: UUID)
    case createUser(status: User.Status, role: UserRole, source: User.Source)
    /// Activates a pending user with this role.
    case activateUser(user: UUID, role: UserRole)
    /// Activates a pending user whose sign-in an operator linked by hand; this proves no address.
    case admitByAssertion(user: UUID, role: UserRole)
    /// Activates a user who waits for approval, with this role.
    case approveUser(user: UUID, role: UserRole)
    /// Makes a user who came from a sign-up wait for approval.
    case awaitApproval(user: UUID, role: UserRole)
    /// Unlinks the identity of a deleted user.
    case tombstoneIdentity(identity: UUID)
    /// Links the attempt's identity to this user; nil stands for the user just created.
    case linkIdentity(user: UUID?)
    case acceptInvite(invite: UUID, role: UserRole, downgraded: Bool)
    /// Accepts the invite without a change of role, since the person was already a user.
    case markInviteAccepted(invite: UUID, user: UUID)
    /// Writes an audit row that says that a person with another address than the invited one
    /// accepted the invite.
    case auditOtherAddress(invite: UUID)
    case consumeLinkGrant(grant: UUID)
    /// Counts one use of the join link, for the user of this verdict.
    case useJoinLink(link: UUID)
    case reserve(tenant: UUID?, invite: UUID?, joinLink: UUID? = nil)
    /// Removes the reservation of the sign-up that this caller reported.
    case endReservation(caller: UUID)
    case recordChoices(tenants: [UUID])
    case removeChoice(tenant: UUID)

    /// Whether the effect creates a user or changes a user's status.
    package var touchesUser: Bool {
        switch self {
        case .createUser, .activateUser, .admitByAssertion, .approveUser, .awaitApproval: true
        default: false
        }
    }
}

/// The result of the rules.
package struct Verdict: Sendable, Equatable {
    /// What the rules decided; `created`, `linked` and `existing` are successes.
    package var outcome: Outcome
    package var reason: Reason?
    /// The tenant; `nil` if none was found, or if the person still has to choose.
    package var tenantID: UUID?
    /// The existing user; `nil` if there is none, or if the effects will create one.
    package var userID: UUID?
    /// The invite that was used or refused; `nil` if there is none.
    package var inviteID: UUID?
    /// The ids of the tenants to choose from, sorted.
    package var choices: [UUID] = []
    /// The effects, in the order in which they are written; empty for a refusal.
    package var effects: [Effect] = []
    package var trace: [TraceEntry] = []
    /// The reason that is shown instead of `reason` to the person who signs in; `nil` if `reason`
    /// is shown.
    package var publicReason: Reason?
    /// The id of the identity that had a native user name before the pool gave the name to another
    /// person. It is set only in the refusal of that other person.
    package var nameGivenAnew: UUID?

    /// Creates a verdict without tenant, effects and trace; the evaluation fills them in.
    package init(_ outcome: Outcome, reason: Reason? = nil) {
        self.outcome = outcome
        self.reason = reason
    }

    /// Whether the verdict is a success. `reserved` and `deferred` are not successes, because the
    /// person cannot sign in yet.
    package var isSuccess: Bool {
        outcome == .created || outcome == .linked || outcome == .existing
    }

    /// Whether the verdict counts against the limits of failed attempts. Only refusals count, but
    /// not the refusal of a person who waits for approval.
    package var isFailure: Bool { outcome == .refused && reason != .approvalPending }

    /// Whether the person may be signed in to one tenant now.
    package var maySignIn: Bool {
        isSuccess && tenantID != nil
            && !effects.contains {
                switch $0 {
                case .createUser(status: .pending, role: _, source: _), .awaitApproval: true
                default: false
                }
            }
    }
}

/// The result of one rule, as a step of the trace.
package struct TraceEntry: Sendable, Equatable {
    /// The `result` of a step of rule 8 if the address of the existing account was never proved. An
    /// operator must then decide whose account it is.
    package static let addressUnproved = "address_unproved"
    /// The `result` of a step of rule 5 if the address is proved.
    package static let addressProved = "vouched for"

    package var rule: Rule
    /// A reason's or outcome's raw value, or a short step name; shown in the console.
    package var result: String
    /// Details of the step. They name policies and ids, but no address and no person.
    package var detail: String
    package var about: [TraceReference]

    package init(rule: Rule, result: String, detail: String, about: [TraceReference] = []) {
        self.rule = rule
        self.result = result
        self.detail = detail
        self.about = about
    }
}

/// A row that a step of the trace read, and the tenant that owns it.
package struct TraceReference: Sendable, Hashable {
    /// The kind of row; raw values are those of the wire format.
    package enum Kind: String, Sendable, CaseIterable {
        case provider, tenant, user, invite, domain
        case joinLink = "join_link"
    }

    package var kind: Kind
    /// The id of the row, which may have been deleted since.
    package var id: UUID
    /// The tenant that owns the row; `nil` for the platform.
    package var tenantID: UUID?

    /// Creates the reference; `tenant` is nil if the platform owns the row.
    init(_ kind: Kind, _ id: UUID, of tenant: UUID?) {
        self.kind = kind
        self.id = id
        tenantID = tenant
    }

    static func tenant(_ id: UUID) -> TraceReference { .init(.tenant, id, of: id) }

    static func user(_ id: UUID, of tenant: UUID) -> TraceReference {
        .init(.user, id, of: tenant)
    }

    static func invite(_ invite: Invite) -> TraceReference {
        .init(.invite, invite.id, of: invite.tenantID)
    }

    package static func joinLink(_ link: JoinLink) -> TraceReference {
        .init(.joinLink, link.id, of: link.tenantID)
    }

    package static func domain(_ domain: TenantDomain) -> TraceReference {
        .init(.domain, domain.id, of: domain.tenantID)
    }
}

/// The refusal that a stranger gets: the same text for every reason.
package enum PublicRefusal {
    /// Returns the text: one short sentence without a full stop, because Cognito adds one.
    /// `reference` is the decision's short reference.
    package static func text(reference: String) -> String {
        "Sign-up is not available for this account. Contact your administrator (ref \(reference))"
    }
}
