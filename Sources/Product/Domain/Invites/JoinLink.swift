import Text

/// An operator's permission for many people to join a tenant as members. Its status follows from
/// its times, its uses and the clock.
package struct JoinLink: Sendable, Equatable {
    /// Raw values are those of the wire format.
    package enum Status: String, Sendable, CaseIterable {
        case active, revoked, expired
        case usedUp = "used_up"
    }

    /// How many users a link may admit.
    package static let places: ClosedRange<Int> = 1...10_000
    package static let defaultPlaces = 100
    /// How many links of one tenant may be live at a time.
    package static let mostLive = 20

    package var id: UUID
    package var tenantID: UUID
    /// A-labels; if empty, every domain is admitted.
    package var domains: [String]
    package var maxUses: Int
    /// The number of users that the link has created.
    package var uses: Int
    /// Exclusive.
    package var expiresAt: Timestamp
    package var revokedAt: Timestamp?

    /// The defaults describe a live, unused link for every domain.
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

    /// The status. Expiry is exclusive: at `expiresAt` itself the link is no longer live.
    package func status(at now: Timestamp) -> Status {
        if revokedAt != nil { return .revoked }
        if now >= expiresAt { return .expired }
        return uses < maxUses ? .active : .usedUp
    }

    /// Whether people of this domain (an A-label) may use the link.
    package func takes(domain: String) -> Bool {
        domains.isEmpty || domains.contains { sameBytes($0, domain) }
    }
}

/// A join link, and whether its maker may still invite.
package struct JoinLinkFacts: Sendable, Equatable {
    /// The link as stored; it may be expired, revoked or used up.
    package var link: JoinLink
    /// Whether its maker may still invite members; otherwise the link counts as revoked.
    package var makerMayInvite: Bool

    /// The default describes the link of an API key.
    package init(link: JoinLink, makerMayInvite: Bool = true) {
        self.link = link
        self.makerMayInvite = makerMayInvite
    }
}
