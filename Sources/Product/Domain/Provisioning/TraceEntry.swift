import Text

/// One rule that was looked at.
package struct TraceEntry: Sendable, Equatable {
    /// The result of a step of rule 8: the account's address was never proved, so that an operator
    /// has to say whose it is.
    package static let addressUnproved = "address_unproved"

    package var rule: Rule
    package var result: String
    /// Policy words and ids; no address and no name.
    package var detail: String
    /// The rows that it looked at.
    package var about: [TraceReference]

    package init(rule: Rule, result: String, detail: String, about: [TraceReference] = []) {
        self.rule = rule
        self.result = result
        self.detail = detail
        self.about = about
    }
}

/// A row that a step of the trace looked at, and whose it is.
package struct TraceReference: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        case provider, tenant, user, invite, domain
    }

    package var kind: Kind
    package var id: UUID
    /// The tenant that owns the row; nil: the platform.
    package var tenantID: UUID?

    package init(_ kind: Kind, _ id: UUID, of tenant: UUID?) {
        self.kind = kind
        self.id = id
        tenantID = tenant
    }

    package static func tenant(_ id: UUID) -> TraceReference { .init(.tenant, id, of: id) }

    package static func user(_ id: UUID, of tenant: UUID) -> TraceReference {
        .init(.user, id, of: tenant)
    }

    package static func invite(_ invite: Invite) -> TraceReference {
        .init(.invite, invite.id, of: invite.tenantID)
    }

    package static func domain(_ domain: TenantDomain) -> TraceReference {
        .init(.domain, domain.id, of: domain.tenantID)
    }
}
