import Text

/// A tenant that an input named.
package struct AskedTenant: Sendable, Equatable {
    /// Which input named the tenant; contradicting sources refuse the attempt.
    package enum Source: String, Sendable, CaseIterable {
        case provider, client, caller, attempt, metadata, reservation
    }
    package var source: Source
    /// nil: the named tenant does not exist.
    package var tenantID: UUID?

    /// `tenantID` nil: the named tenant does not exist.
    package init(_ source: Source, _ tenantID: UUID?) {
        self.source = source
        self.tenantID = tenantID
    }
}

/// The rows of one tenant about the attempt's address.
package struct TenantFacts: Sendable {
    package var id: UUID
    /// A suspended or deleted tenant refuses.
    package var status: Tenant.Status
    /// Read in the same transaction as the rows.
    package var policy: TenantPolicy
    /// The user at this address who is not deleted.
    package var user: UserFacts?
    /// The newest invite to this address that is neither accepted nor revoked.
    package var invite: InviteFacts?
    package var deleted: UserFacts?
    /// The verified domain that covers the address.
    package var domain: TenantDomain?
    /// As many people wait for approval as may.
    package var isWaitingRoomFull = false
    /// When an operator unlinked the attempt's identity here; nil: not barred.
    package var barredSince: Timestamp?
    /// The newest invite to this address that is expired or revoked. Like the two domains below it
    /// only explains a refusal; no rule reads it.
    package var lapsedInvite: InviteFacts?
    /// A claim on the address's domain without proof.
    package var unprovedDomain: TenantDomain?
    /// A verified parent domain of the address's that does not include subdomains.
    package var parentDomain: TenantDomain?

    /// Defaults describe an active tenant that does not know the address.
    package init(
        id: UUID, status: Tenant.Status = .active, policy: TenantPolicy = TenantPolicy(),
        user: UserFacts? = nil, invite: InviteFacts? = nil, deleted: UserFacts? = nil,
        domain: TenantDomain? = nil
    ) {
        self.id = id
        self.status = status
        self.policy = policy
        self.user = user
        self.invite = invite
        self.deleted = deleted
        self.domain = domain
    }
}
