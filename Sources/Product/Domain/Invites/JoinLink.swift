import Text

/// A link with which many people may join a tenant as members. Its status is not stored; it follows
/// from its times, its uses and the clock.
package struct JoinLink: Sendable, Equatable {
    /// The state of a link; raw values are those of the wire format.
    package enum Status: String, Sendable, CaseIterable {
        case active, revoked, expired
        case usedUp = "used_up"
    }

    /// The allowed values of `maxUses`: how many users a link may admit.
    package static let places: ClosedRange<Int> = 1...10_000
    package static let defaultPlaces = 100
    /// The maximum number of valid links that a tenant may have at a time.
    package static let mostLive = 20

    package var id: UUID
    package var tenantID: UUID
    /// The email domains (A-labels) whose people may use the link; if empty, people of every domain
    /// may use it.
    package var domains: [String]
    package var maxUses: Int
    /// The number of users that the link has created.
    package var uses: Int
    /// The expiry, exclusive: from this time on the link is no longer valid.
    package var expiresAt: Timestamp
    package var revokedAt: Timestamp?

    /// Creates the link; the defaults describe a valid, unused link for every domain.
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

    /// Returns the status at this time. At `expiresAt` itself the link is already expired.
    package func status(at now: Timestamp) -> Status {
        if revokedAt != nil { return .revoked }
        if now >= expiresAt { return .expired }
        return uses < maxUses ? .active : .usedUp
    }

    /// Whether people with an address at this domain (an A-label) may use the link.
    func takes(domain: String) -> Bool {
        domains.isEmpty || domains.contains { sameBytes($0, domain) }
    }
}

/// A join link, and whether the person who made it may still invite.
package struct JoinLinkFacts: Sendable, Equatable {
    /// The link as stored; it may be expired, revoked or used up.
    package var link: JoinLink
    /// Whether the person who made the link may still invite members; if not, the link counts as
    /// revoked.
    package var makerMayInvite: Bool

    /// Creates the facts; the default fits a link that an API key made.
    package init(link: JoinLink, makerMayInvite: Bool = true) {
        self.link = link
        self.makerMayInvite = makerMayInvite
    }
}
