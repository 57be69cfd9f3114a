import Domain
import Postgres
import Text

/// Reads and locks all facts that the rules need, in one transaction. It locks the person first,
/// then the tenants in the order of their ids, and in each tenant the user before the invite.
struct FactsReading: Sendable {
    let database: Database
    let call: ProvisioningCall
    let named: ResolvedAttempt
    /// The change in whose transaction the facts are read. It locks what it reads, except rows that
    /// only explain a refusal.
    var change: Change
    private(set) var facts: Facts
    private(set) var tenants: [UUID: TenantRow] = [:]
    /// The recorded answer to an earlier identical call; `nil` if there is none or if `begin` got
    /// no digest.
    private(set) var recorded: RecordedResponse?
    private var earlier: AskedRows?
    /// The hash of the link grant that the reservation has.
    private var keptGrant: [UInt8]?
    /// The ids of a tenant and of a link grant of that tenant. The grant cannot be used, because
    /// the operator who created the grant presents it for their own address.
    private(set) var makersGrant: (tenant: UUID, grant: UUID)?

    init(_ database: Database, _ call: ProvisioningCall, _ named: ResolvedAttempt, _ change: Change)
    {
        self.database = database
        self.call = call
        self.named = named
        self.change = change
        facts = Facts(provider: named.provider)
        facts.asked = named.asked
    }

    var attempt: Attempt { named.attempt }

    var identityKey: [UInt8] {
        database.personKey(
            provider: attempt.identity.provider.rawValue, issuer: attempt.identity.issuer,
            subject: attempt.identity.subject)
    }

    /// The keys of the address that the decision uses, and of the account's other addresses.
    private var addressKeys: [String] { [attempt.email?.key].compactMap(\.self) + call.otherKeys }

    /// Locks the person's identity and addresses, so that attempts of one person run one after the
    /// other on all replicas. Also asks for the answer that is recorded under `digest`. The
    /// statement is sent together with the next one of `read`.
    mutating func begin(_ digest: [UInt8]? = nil, isEvent: Bool = false, locking: Bool = true) {
        earlier = change.askEarlier(
            digest, isEvent: isEvent, identity: identityKey,
            address: addressKeys.flatMap { database.personKey(emailKey: $0) },
            locking: locking)
    }

    mutating func read() async throws(PostgresError) {
        if earlier == nil { begin(locking: false) }
        let isRead = try await readTenants()
        guard let earlier else { return }
        let found = try await EarlierCalls(earlier.rows())
        recorded = found.recorded
        guard isRead else { return }
        (facts.pendingChoices, facts.declined) = (found.pendingChoices, found.declined)
    }

    /// Reads the facts of all tenants that matter. Returns false if the attempt will be refused
    /// without reading any tenant's rows.
    private mutating func readTenants() async throws(PostgresError) -> Bool {
        guard let provider = facts.provider else { return false }
        if attempt.trigger == .nativeSignUp {
            facts.shownUpstreams = try await change.shownUpstreams(of: provider, by: call)
        }
        // If the call requests different tenants, the attempt is refused, and no tenant's rows are
        // read or locked.
        let asked = Set(facts.asked.map(\.tenantID))
        guard asked.count <= 1, !asked.contains(nil) else { return false }
        // Reads no reservation for a sign-up. A sign-up itself says what it requests, so an earlier
        // reservation of the same user name does not count.
        if attempt.identity.isNativeName, !attempt.trigger.isUnprovedNative {
            facts.reservation = try await reservation()
        }
        if let reservation = facts.reservation { try await readKeptGrant(of: reservation) }
        for id in try await candidates() { try await readTenant(id) }
        if named.attempt.hasInviteToken || facts.reservation?.inviteID != nil {
            try await readInvite()
        }
        if named.attempt.hasJoinToken || facts.reservation?.joinLinkID != nil {
            try await readJoinLink()
        }
        return true
    }

    /// The reservation that belongs to this attempt; `nil` if there is none. A person's own call
    /// does not use a reservation with another `sub`, since such a reservation belongs to another
    /// person with the same user name.
    private func reservation() async throws(PostgresError) -> Reservation? {
        let identity = attempt.identity
        let rows = try await change.query(
            """
            SELECT caller, tenant_id, invite_id, alias, join_link_id FROM reservations
            WHERE caller = ANY(\(named.reservers)) AND provider = \(identity.provider.rawValue)
                AND issuer = \(identity.issuer) AND subject = \(identity.subject)
                AND expires_at > \(change.now)
            ORDER BY array_position(\(named.reservers)::uuid[], caller)
            """)
        for row in rows {
            let kept = Reservation(
                caller: try row.get(0), tenantID: try row.get(1, as: UUID?.self),
                inviteID: try row.get(2, as: UUID?.self),
                joinLinkID: try row.get(4, as: UUID?.self), sub: try row.get(3, as: String?.self))
            if call.isInPerson, kept.isAnothers(call.alias?.sub) { continue }
            return kept
        }
        return nil
    }

    /// The tenants to read, in the order of their ids. These are the requested tenants or, if none
    /// is requested, all tenants that may know the person.
    private func candidates() async throws(PostgresError) -> [UUID] {
        var ids = Set(facts.asked.compactMap(\.tenantID))
        if let reserved = facts.reservation?.tenantID { ids.insert(reserved) }
        ids.formUnion(named.tokenTenants)
        if ids.isEmpty {
            var email: [UInt8] = []
            var names: [String] = []
            if let address = attempt.email {
                email = database.personKey(emailKey: address.key)
                names = Self.suffixes(of: address.domain)
            }
            let rows = try await change.query(
                """
                SELECT directory_tenants_of(\(identityKey))
                UNION SELECT directory_tenants_of(\(email))
                UNION SELECT directory_tenant_by_domain(name) FROM unnest(\(names)::text[]) AS name
                """)
            for row in rows {
                if let id = try row.get(0, as: UUID?.self) { ids.insert(id) }
            }
        }
        return ids.sorted()
    }

    /// Whether the provider is trusted enough to prove the address that it reported.
    var isAddressTrusted: Bool {
        guard let provider = facts.provider, let email = attempt.email else { return false }
        let own = provider.tenantID.flatMap { facts.tenants[$0]?.domain }
        return AddressTrust.ofProvider(
            provider, attempt: attempt, domain: email.domain, ownDomain: own) > .none
    }

    /// The domain and all domains above it, such as `a.b.c`, `b.c` and `c`, since a verified domain
    /// may cover its subdomains.
    static func suffixes(of domain: String) -> [String] {
        let labels = domain.split(separator: ".")
        return labels.indices.map { labels[$0...].joined(separator: ".") }
    }

    mutating func explain(_ id: UUID, _ fill: (inout TenantFacts) -> Void) {
        guard var tenant = facts.tenants[id] else { return }
        fill(&tenant)
        facts.tenants[id] = tenant
    }

    /// Reads one tenant's facts. Statements that do not depend on each other share a round trip.
    mutating func readTenant(_ id: UUID) async throws(PostgresError) {
        let change = try await change.switching(to: id)
        let suffixes = attempt.email.map { Self.suffixes(of: $0.domain) } ?? []
        let tenantRows = change.askTenant(barring: attempt.identity, covering: suffixes)
        let peopleRows = change.askPeople(
            of: attempt.identity, alias: call.alias, at: attempt.email?.key)
        let inviteRows = attempt.email.map { change.askPendingInvite(to: $0.key) }
        guard let read = try await change.tenantRead(tenantRows.rows()) else { return }
        tenants[id] = read.row
        var tenant = TenantFacts(id: id, status: read.row.status, policy: read.policy)
        tenant.barredSince = read.barredSince
        tenant.domain = read.domain
        var people = try await change.people(
            peopleRows.rows(), of: attempt.identity, alias: call.alias, at: attempt.email?.key)
        if let address = people.knownAddress, !people.known.isEmpty {
            people.known[0].invite = try await change.invite(
                change.askPendingInvite(to: address).rows(), row: people.known[0].user)
        }
        facts.known += people.known
        facts.formerHolders += people.former
        if let email = attempt.email, let inviteRows {
            (tenant.user, tenant.deleted) = (people.live, people.deleted)
            try await readOtherAddresses(&tenant, change)
            tenant.invite = try await change.invite(inviteRows.rows(), row: tenant.user)
            if tenant.user == nil { tenant.user = try await change.formerHolder(of: email.key) }
        }
        if read.policy.signUp == .approval || tenant.domain?.mode == .ask {
            tenant.isWaitingRoomFull = try await change.isWaitingRoomFull()
        }
        if tenant.user == nil, tenant.deleted == nil {
            let addresses = addressKeys.map { database.personKey(emailKey: $0) }
            tenant.deleted = try await change.buried([identityKey] + addresses)
        }
        try await readLinkGrant(change)
        facts.tenants[id] = tenant
    }

    /// Reads whether another address of the account belongs to a suspended or deleted user. If so,
    /// the attempt is refused as if the decision used that address: a person who was removed cannot
    /// return with another address.
    private func readOtherAddresses(
        _ tenant: inout TenantFacts, _ change: Change
    ) async throws(PostgresError) {
        for key in call.otherKeys {
            let people = try await change.people(change.askPeople(at: key).rows(), at: key)
            if let user = people.live, user.status == .suspended {
                tenant.user = user
                return
            }
            if people.live == nil, tenant.deleted == nil { tenant.deleted = people.deleted }
        }
    }

    private mutating func readKeptGrant(of reservation: Reservation) async throws(PostgresError) {
        let identity = attempt.identity
        let rows = try await change.query(
            """
            SELECT link_grant FROM reservations
            WHERE caller = \(reservation.caller) AND provider = \(identity.provider.rawValue)
                AND issuer = \(identity.issuer) AND subject = \(identity.subject)
            """)
        keptGrant = try rows.first?.get(0, as: [UInt8]?.self) ?? nil
    }

    /// Reads the link grant that this call or the reservation names. If the operator who created
    /// the grant presents it for their own address, it is stored in `makersGrant` and not in
    /// `facts`.
    private mutating func readLinkGrant(_ change: Change) async throws(PostgresError) {
        guard facts.linkGrant == nil, let hash = call.linkGrant.map(TenantToken.hash) ?? keptGrant,
            let grant = try await change.linkGrant(hash: hash)
        else { return }
        if try await change.isMakers(attempt.email?.key, of: grant.id) {
            makersGrant = (change.tenant, grant.id)
        } else {
            facts.linkGrant = grant
        }
    }

    /// Reads the invite that the call's token or the reservation names.
    private mutating func readInvite() async throws(PostgresError) {
        for id in facts.tenants.keys.sorted() {
            let change = try await change.switching(to: id)
            let condition: SQL
            if let hash = named.tokenHash {
                condition = "token_hash = \(hash)"
            } else if let invite = facts.reservation?.inviteID {
                condition = "id = \(invite)"
            } else {
                return
            }
            guard
                var found = try await change.invite(
                    change.askInvite(where: condition).rows(), row: nil)
            else { continue }
            let address = found.invite.email.key
            let people = try await change.people(
                change.askPeople(at: address).rows(), at: address)
            found.row = people.live
            if let accepted = found.invite.acceptedUserID {
                (found.acceptedUser, found.acceptedBy) = try await change.accepted(
                    accepted, found.invite.id)
            }
            facts.invite = found
            return
        }
        // A token of a tenant whose facts were not read is not found, since each tenant knows only
        // its own tokens.
    }

    /// Reads the join link that the call's token or the reservation names.
    private mutating func readJoinLink() async throws(PostgresError) {
        for id in facts.tenants.keys.sorted() where facts.joinLink == nil {
            let change = try await change.switching(to: id)
            if let hash = named.joinHash {
                facts.joinLink = try await change.joinLink(where: "token_hash = \(hash)")
            } else if let link = facts.reservation?.joinLinkID {
                facts.joinLink = try await change.joinLink(where: "id = \(link)")
            }
        }
    }
}

/// Facts that only explain a refusal. They are read after the decision, without locks.
extension FactsReading {
    /// Adds facts that did not help the attempt, such as an expired invite. Reads the tenants that
    /// were read before and, if no tenant is requested, those that claim the address's domain.
    mutating func readUnhelpful() async throws(PostgresError) {
        guard facts.provider != nil, let email = attempt.email else { return }
        let names = Self.suffixes(of: email.domain)
        // Reads without locks. Tenants found by their domains come in no fixed order, so locks
        // could cause a deadlock.
        let deciding = change
        change.locksRows = false
        defer { change = deciding }
        if facts.asked.isEmpty {
            let rows = try await change.query("SELECT domain_claimants(\(names))")
            for row in rows {
                let id: UUID = try row.get(0)
                if facts.tenants[id] == nil { try await readTenant(id) }
            }
        }
        for id in facts.tenants.keys.sorted() {
            let change = try await change.switching(to: id)
            let invite = try await change.lapsedInvite(to: email)
            let domains = try await change.unhelpfulDomains(among: names)
            explain(id) { tenant in
                tenant.lapsedInvite = invite
                tenant.unprovedDomain = domains.first { $0.status == .pending }
                tenant.parentDomain = domains.first { $0.status == .verified }
            }
        }
    }
}

extension Change {
    /// The newest invite to the address if it is expired or revoked; otherwise `nil`.
    fileprivate func lapsedInvite(to email: Email) async throws(PostgresError) -> InviteFacts? {
        let rows = try await query(
            """
            SELECT id, email, role, status, delivery, expires_at, updated_at FROM invites
            WHERE tenant_id = \(tenant) AND email_key = \(email.key) AND status <> 'accepted'
            ORDER BY created_at DESC, id LIMIT 1
            """)
        guard let row = rows.first else { return nil }
        let isRevoked = try row.get(3, as: String.self) == "revoked"
        let ends: Timestamp = try row.get(5)
        guard isRevoked || ends <= now else { return nil }
        return InviteFacts(
            invite: Invite(
                id: try row.get(0), tenantID: tenant,
                email: Email(key: email.key, display: try row.get(1), domain: email.domain),
                role: try row.get(2), expiresAt: ends, delivery: try row.get(4),
                revokedAt: isRevoked ? try row.get(6) : nil))
    }

    /// The domains that almost cover the address: claims that are not verified, and a verified
    /// parent domain that does not include its subdomains.
    fileprivate func unhelpfulDomains(
        among suffixes: [String]
    ) async throws(PostgresError) -> [TenantDomain] {
        let rows = try await query(
            """
            SELECT id, domain, display, status, include_subdomains, created_at, verified_at,
                mode, role
            FROM domains WHERE tenant_id = \(tenant) AND domain = ANY(\(suffixes))
                AND (status = 'pending' AND (include_subdomains OR domain = \(suffixes.first))
                    OR status = 'verified' AND NOT include_subdomains
                        AND domain <> \(suffixes.first))
            ORDER BY length(domain) DESC LIMIT 5
            """)
        return try rows.map { row throws(PostgresError) in
            TenantDomain(
                id: try row.get(0), tenantID: tenant, domain: try row.get(1),
                display: try row.get(2), status: try row.get(3),
                includeSubdomains: try row.get(4),
                mode: try row.get(7, as: TenantDomain.Mode?.self),
                role: try row.get(8, as: UserRole?.self), createdAt: try row.get(5),
                verifiedAt: try row.get(6, as: Timestamp?.self))
        }
    }
}
