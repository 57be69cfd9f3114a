import Text

/// An operator's permission for many people to join a tenant as members. Its status follows from
/// its times, its uses and the clock.
package struct JoinLink: Sendable, Equatable {
    /// Raw values are the wire format's.
    package enum Status: String, Sendable, CaseIterable {
        case active, revoked, expired
        case usedUp = "used_up"
    }

    /// How many users a link may let in.
    package static let places: ClosedRange<Int> = 1...10_000
    package static let defaultPlaces = 100
    /// How many links of one tenant are live at once.
    package static let mostLive = 20

    package var id: UUID
    package var tenantID: UUID
    /// A-labels; empty: every domain.
    package var domains: [String]
    package var maxUses: Int
    /// Users whom it has created.
    package var uses: Int
    /// Exclusive.
    package var expiresAt: Timestamp
    package var revokedAt: Timestamp?

    /// Defaults describe a live link without a use, for every domain.
    package init(
        id: UUID, tenantID: UUID, domains: [String] = [], maxUses: Int = defaultPlaces,
        uses: Int = 0, expiresAt: Timestamp, revokedAt: Timestamp? = nil
    ) {
        self.id = id
        self.tenantID = tenantID
        self.domains = domains
        self.maxUses = maxUses
        self.uses = uses
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
    }

    /// Expiry is exclusive: at `expiresAt` itself the link is no longer live.
    package func status(at now: Timestamp) -> Status {
        if revokedAt != nil { return .revoked }
        if now >= expiresAt { return .expired }
        return uses < maxUses ? .active : .usedUp
    }

    /// Whether people of this domain (an A-label) may use it.
    package func takes(domain: String) -> Bool {
        domains.isEmpty || domains.contains { sameBytes($0, domain) }
    }
}

/// A join link, and whether its maker may still invite.
package struct JoinLinkFacts: Sendable, Equatable {
    /// As stored: may be expired, revoked or used up.
    package var link: JoinLink
    /// A link of a maker who may not invite members any more counts as revoked.
    package var makerMayInvite: Bool

    /// The default describes a link of an API key.
    package init(link: JoinLink, makerMayInvite: Bool = true) {
        self.link = link
        self.makerMayInvite = makerMayInvite
    }
}
