import Text

/// Who did what to which thing; written in the same transaction as the change.
package struct AuditEvent: Sendable, Equatable {
    package enum ActorType: String, Sendable, CaseIterable {
        case `operator`, user, key, hook, system
    }

    package struct Actor: Sendable, Equatable {
        package var type: ActorType
        package var id: String?
        package var name: String?

        package init(type: ActorType, id: String? = nil, name: String? = nil) {
            self.type = type
            self.id = id
            self.name = name
        }
    }

    package struct Target: Sendable, Equatable {
        package var type: String
        package var id: String
        package var name: String?

        package init(type: String, id: String, name: String? = nil) {
            self.type = type
            self.id = id
            self.name = name
        }
    }

    /// One field before and after, as text; secrets never stand here.
    package struct Change: Sendable, Equatable {
        package var field: String
        package var before: String?
        package var after: String?

        package init(field: String, before: String?, after: String?) {
            self.field = field
            self.before = before
            self.after = after
        }
    }

    package var id: UUID
    package var occurredAt: Timestamp
    package var actor: Actor
    /// `invite.revoked`
    package var action: String
    package var target: Target
    package var tenantID: UUID?
    package var requestID: String?
    package var address: String?
    package var changes: [Change]

    package init(
        id: UUID, occurredAt: Timestamp, actor: Actor, action: String, target: Target,
        tenantID: UUID?, requestID: String? = nil, address: String? = nil, changes: [Change] = []
    ) {
        self.id = id
        self.occurredAt = occurredAt
        self.actor = actor
        self.action = action
        self.target = target
        self.tenantID = tenantID
        self.requestID = requestID
        self.address = address
        self.changes = changes
    }
}
