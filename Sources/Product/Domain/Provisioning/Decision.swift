import Text

/// A recorded verdict; never updated, attempts are counted beside it.
package struct Decision: Sendable, Equatable {
    package var id: UUID
    package var createdAt: Timestamp
    package var outcome: Outcome
    package var reason: Reason?
    package var email: String?
    package var identity: IdentityKey?
    package var tenantID: UUID?
    package var userID: UUID?
    package var inviteID: UUID?
    package var policyVersion: Int64?
    package var trace: [TraceEntry]
    package var durationMilliseconds: Double
    package var replayOf: UUID?

    package init(
        id: UUID, createdAt: Timestamp, outcome: Outcome, reason: Reason?, email: String?,
        identity: IdentityKey?, tenantID: UUID?, userID: UUID?, inviteID: UUID?,
        policyVersion: Int64?, trace: [TraceEntry], durationMilliseconds: Double,
        replayOf: UUID? = nil
    ) {
        self.id = id
        self.createdAt = createdAt
        self.outcome = outcome
        self.reason = reason
        self.email = email
        self.identity = identity
        self.tenantID = tenantID
        self.userID = userID
        self.inviteID = inviteID
        self.policyVersion = policyVersion
        self.trace = trace
        self.durationMilliseconds = durationMilliseconds
        self.replayOf = replayOf
    }
}
