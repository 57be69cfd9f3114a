import Text

/// The result of one rule.
package struct TraceEntry: Sendable, Equatable {
    /// The result of a step of rule 8: the account's address was never proved, so an operator must
    /// decide whose it is.
    package static let addressUnproved = "address_unproved"

    package var rule: Rule
    /// A reason's or outcome's raw value, or a short step name; shown in the console.
    package var result: String
    /// Policy terms and ids; no address and no name.
    package var detail: String
    package var about: [TraceReference]

    package init(rule: Rule, result: String, detail: String, about: [TraceReference] = []) {
        self.rule = rule
        self.result = result
        self.detail = detail
        self.about = about
    }
}

/// A row that a step of the trace read, and its owner.
package struct TraceReference: Sendable, Hashable {
    /// Raw values appear in the wire format.
    package enum Kind: String, Sendable, CaseIterable {
        case provider, tenant, user, invite, domain
        case joinLink = "join_link"
    }

    package var kind: Kind
    /// The row's id; the row may be deleted by the time of reading.
    package var id: UUID
    /// The tenant that owns the row; nil: the platform.
    package var tenantID: UUID?

    /// `tenant` nil: the platform owns the row.
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

    package static func joinLink(_ link: JoinLink) -> TraceReference {
        .init(.joinLink, link.id, of: link.tenantID)
    }

    package static func domain(_ domain: TenantDomain) -> TraceReference {
        .init(.domain, domain.id, of: domain.tenantID)
    }
}
