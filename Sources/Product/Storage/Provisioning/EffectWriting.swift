import Domain
import Postgres
import Text

/// Thrown if a row changed during a decision in spite of the locks. The whole call then runs again.
struct ProvisioningRace: Error {}

/// Writes the effects of a verdict in its tenant, with one audit row for each.
struct EffectWriting: Sendable {
    let database: Database
    let call: ProvisioningCall
    let attempt: Attempt
    let identityKey: [UInt8]
    let isAddressTrusted: Bool
    /// Whether only a provider or credential of the tenant asserts the identity.
    let isAssertedByTenant: Bool
    /// Whether the attempt proves the address. An invite's link that was not mailed but shown to an
    /// operator does not prove it.
    let provesAddress: Bool
    let change: Change
    /// Whether the identity is added to a user who has signed in before.
    let addsToActiveUser: Bool
    /// The user of the verdict, or the user whom an effect created.
    private(set) var userID: UUID?
    private(set) var identityID: UUID?
    /// The user's row as this decision has changed it; `nil` if the last statement that changed the
    /// row did not return it.
    private(set) var writtenUser: DecidedUser?

    /// What remains to be done for an effect once its statement has returned its rows.
    private typealias Rest = @Sendable (inout EffectWriting) async throws -> Void
    /// What remains to be done for the effects, in their order.
    private var rests: [Rest] = []

    init(_ reading: FactsReading, _ verdict: Verdict, _ change: Change) {
        database = reading.database
        call = reading.call
        attempt = reading.attempt
        identityKey = reading.identityKey
        isAddressTrusted = reading.isAddressTrusted
        isAssertedByTenant = reading.call.caller != nil || reading.named.provider?.tenantID != nil
        provesAddress =
            attempt.trigger != .invitePage || reading.facts.invite?.invite.delivery == .mail
        self.change = change
        addsToActiveUser = !verdict.effects.contains(where: \.touchesUser)
        userID = verdict.userID
    }

    private var tenant: UUID { change.tenant }
    private var now: Timestamp { change.now }
    /// The key of the attempt's address; empty if there is none.
    private var address: String { attempt.email?.key ?? "" }

    /// Writes the effects in order. Sends their statements without waiting for results in between,
    /// so that they share round trips. What needs a result, such as an audit row, follows in the
    /// same order.
    mutating func write(_ effects: [Effect]) async throws {
        var at = 0
        while at < effects.count {
            // Writes the identity first, so that the statement that activates the user returns the
            // identity too.
            if at + 1 < effects.count, effects[at].activates,
                case .linkIdentity(let user?) = effects[at + 1]
            {
                let link = sendLink(user, isShown: true)
                try await send(effects[at])
                rests.append(link)
                at += 2
            } else {
                try await send(effects[at])
                at += 1
            }
        }
        try await finish()
    }

    private mutating func finish() async throws {
        let waiting = rests
        rests = []
        for rest in waiting { try await rest(&self) }
    }

    private mutating func send(_ effect: Effect) async throws {
        switch effect {
        case .removeUnreachableRow(let user): remove(user)
        case .wipeUnverifiedCredentials(let user): try await wipe(user)
        case .createUser(let status, let role, let source):
            if source == .approval { try await enterWaitingRoom() }
            try await create(status, role, source)
        case .activateUser(let user, let role): settle(user, .active, role, .userActivated)
        case .admitByAssertion(let user, let role):
            settle(user, .active, role, .userActivated, provesAddress: false)
        case .approveUser(let user, let role): settle(user, .active, role, .userApproved)
        case .awaitApproval(let user, let role):
            try await enterWaitingRoom()
            settle(user, .pending, role, .userApprovalRequested)
        case .tombstoneIdentity(let identity):
            change.queryLater(
                "DELETE FROM identities WHERE tenant_id = \(tenant) AND id = \(identity)")
            auditAfterwards(.identityRemoved, "identity", identity, identity.description)
        case .linkIdentity(let user):
            guard let user = user ?? userID else { throw ProvisioningRace() }
            rests.append(sendLink(user, isShown: false))
        case .acceptInvite(let invite, let role, let downgraded):
            accept(invite, role: (downgraded ? "wider than the inviter's" : nil, role.rawValue))
        case .markInviteAccepted(let invite, let user):
            userID = userID ?? user
            accept(invite)
        case .auditOtherAddress(let invite):
            auditAfterwards(.inviteOtherAddress, "invite", invite, address)
        case .consumeLinkGrant(let grant):
            guard try await change.consumeLinkGrant(grant) else { throw ProvisioningRace() }
            auditAfterwards(.linkGrantUsed, "link_grant", grant, grant.description)
        case .useJoinLink(let link): try use(joinLink: link)
        case .reserve(let tenant, let invite, let joinLink): reserve(tenant, invite, joinLink)
        case .endReservation(let caller): endReservation(of: caller)
        case .recordChoices(let tenants): record(choices: tenants)
        case .removeChoice(let tenant): remove(choice: tenant)
        }
    }

    private mutating func auditAfterwards(
        _ action: AuditAction, _ type: String, _ id: UUID, _ name: String
    ) {
        rests.append { try await $0.audit(action, type, id, name) }
    }

    private func audit(
        _ action: AuditAction, _ type: String, _ id: UUID, _ name: String,
        _ changes: AuditChanges = AuditChanges()
    ) async throws {
        try await change.audit(action, AuditTarget(type, id, name), changes)
    }

    private mutating func remove(_ user: UUID) {
        change.queryLater(
            "DELETE FROM users WHERE tenant_id = \(tenant) AND id = \(user) AND status = 'pending'")
        change.queryLater("SELECT user_search_drop(\(change.tenant), \(user))")
        auditAfterwards(.userRemoved, "user", user, address)
    }

    private mutating func wipe(_ user: UUID) async throws {
        try await finish()
        change.queryLater(
            """
            UPDATE users SET password_hash = NULL, password_awaited = false, pin_hash = NULL,
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user)
            """)
        try await change.endResets(of: user)
        for table in ["sessions", "link_grants", "known_devices"] as [SQL] {
            change.queryLater(
                "DELETE FROM \(table) WHERE tenant_id = \(tenant) AND user_id = \(user)")
        }
        try await change.revokeOwnAPIKeys(
            of: user, reason: "The account's credentials were never proved.")
        let gone = try await change.query(
            """
            DELETE FROM identities WHERE tenant_id = \(tenant) AND user_id = \(user)
                AND linked_by_type IS NULL RETURNING provider, issuer, subject
            """)
        for row in gone {
            let key = database.personKey(
                provider: try row.get(0), issuer: try row.get(1), subject: try row.get(2))
            change.queryLater("SELECT directory_remove_person(\(key))")
        }
        try await audit(.userCredentialsWiped, "user", user, address)
    }

    private mutating func create(
        _ status: User.Status, _ role: UserRole, _ source: User.Source
    ) async throws {
        guard let email = attempt.email else { throw ProvisioningRace() }
        try await finish()
        let new = NewUser(
            email: email.display, emailKey: email.key, name: call.name, role: role, status: status,
            source: source, emailVerifiedAt: provesAddress ? now : nil,
            lastSignInAt: signedIn(status == .active))
        guard try await change.insertUser(new) else { throw ProvisioningRace() }
        userID = new.id
    }

    /// Activates a pending user, or lets them wait for approval. Users keep a name that they
    /// already have.
    private mutating func settle(
        _ user: UUID, _ status: User.Status, _ role: UserRole, _ action: AuditAction,
        provesAddress: Bool? = nil
    ) {
        let proves = provesAddress ?? self.provesAddress
        let source: User.Source? = status == .pending ? .approval : nil
        let asked = change.ask(
            """
            UPDATE users SET status = \(status), role = \(role),
                source = coalesce(\(source), users.source),
                name = coalesce(nullif(users.name, ''), \(call.name)),
                email_verified_at = CASE WHEN \(proves) AND users.email_key = \(attempt.email?.key)
                    THEN coalesce(users.email_verified_at, \(now)) ELSE users.email_verified_at END,
                last_sign_in_at = coalesce(\(signedIn(status == .active)), users.last_sign_in_at),
                resumed_at = CASE WHEN \(status == .active) THEN \(now) ELSE users.resumed_at END,
                version = users.version + 1, updated_at = \(now)
            FROM (SELECT id, status, role, name FROM users
                WHERE tenant_id = \(tenant) AND id = \(user)) AS was
            WHERE users.tenant_id = \(tenant) AND users.id = was.id
                AND \(SQL.unindexed("users.status")) = 'pending'
            RETURNING \(DecidedUser.columns(of: tenant)), was.status, was.role,
                users.name IS DISTINCT FROM was.name
            """)
        rests.append { writing in
            guard let row = try await asked.rows().first else { throw ProvisioningRace() }
            let written = try DecidedUser(row)
            writing.writtenUser = written
            let end = DecidedUser.end
            if try row.get(end + 2) { try await writing.change.putInSearch(written.row) }
            var changes = AuditChanges()
            changes.add("status", try row.get(end), status)
            changes.add("role", try row.get(end + 1), role)
            try await writing.audit(action, "user", user, written.row.email, changes)
        }
    }

    /// The time of the sign-in, if the user is now active. Accepting an invite at its page is not
    /// yet a sign-in.
    private func signedIn(_ isActive: Bool) -> Timestamp? {
        isActive && attempt.trigger != .invitePage ? now : nil
    }

    /// Sends the statement that links the identity, and returns what remains to be done. `isShown`
    /// means that a later statement returns the user's row with this identity.
    private mutating func sendLink(_ user: UUID, isShown: Bool) -> Rest {
        let id = UUID.random()
        let key = attempt.identity
        let asked = change.ask(
            """
            WITH free AS (\(Change.endOfBar(on: (key.provider.rawValue, key.issuer, key.subject), in: tenant)))
            INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, email,
                email_verified, email_vouched, created_at, last_used_at, tenants_word)
            VALUES (\(tenant), \(id), \(user), \(key.provider.rawValue), \(key.issuer),
                \(key.subject), \(attempt.email?.display), \(provesAddress), \(isAddressTrusted),
                \(now), \(now), \(isAssertedByTenant))
            ON CONFLICT DO NOTHING RETURNING id
            """)
        identityID = id
        return { writing in
            guard try await asked.rows().count == 1 else { throw ProvisioningRace() }
            if !isShown { writing.writtenUser = nil }
            try await writing.followLink(of: user, id)
        }
    }

    private mutating func followLink(of user: UUID, _ id: UUID) async throws {
        let key = attempt.identity
        change.queryLater("SELECT directory_add_person(\(identityKey))")
        if let alias = call.alias {
            try await change.bind(alias, to: id, key)
            writtenUser = nil
        }
        if let hash = call.passwordHash {
            change.queryLater(
                """
                UPDATE users SET password_hash = \(hash), password_awaited = false
                WHERE tenant_id = \(tenant) AND id = \(user)
                """)
        }
        if addsToActiveUser, let email = try await address(of: user) {
            try await change.tellOfSignIn(at: key.provider.rawValue, user, email)
        }
        try await audit(.identityLinked, "identity", id, key.provider.rawValue)
    }

    private func address(of user: UUID) async throws(PostgresError) -> String? {
        let rows = try await change.query(
            "SELECT email FROM users WHERE tenant_id = \(tenant) AND id = \(user)")
        return try rows.first?.get(0)
    }

    /// Marks the invite as accepted. This succeeds only once: a concurrent attempt finds no pending
    /// invite.
    private mutating func accept(_ invite: UUID, role: (before: String?, after: String)? = nil) {
        let asked = change.ask(
            """
            UPDATE invites SET status = 'accepted', accepted_at = \(now),
                accepted_user_id = \(userID), accepted_identity_id = \(identityID),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(invite)
                AND \(SQL.unindexed("status")) = 'pending'
                AND expires_at > \(now)
            RETURNING email, external_id, user_id, public_attributes, private_attributes
            """)
        rests.append { writing in
            guard let row = try await asked.rows().first else { throw ProvisioningRace() }
            var changes = AuditChanges()
            if let role { changes.add("role", role.before, role.after) }
            changes.add("status", "pending", "accepted")
            try await writing.passOn(row, of: invite, &changes)
        }
    }

    /// Gives the user the attributes and the external id from the invite.
    private mutating func passOn(
        _ row: Row, of invite: UUID, _ changes: inout AuditChanges
    ) async throws {
        let email: String = try row.get(0)
        let given = AttributePair(public: try row.get(3), private: try row.get(4))
        if let userID { try await change.give(given, to: userID, &changes) }
        if !given.isEmpty { writtenUser = nil }
        try await audit(.inviteAccepted, "invite", invite, email, changes)
        guard let userID, let externalID: String = try row.get(1, as: String?.self) else { return }
        writtenUser = nil
        try await change.pass(externalID, from: row.get(2), to: userID, email)
    }
}

extension Effect {
    fileprivate var activates: Bool {
        switch self {
        case .activateUser, .admitByAssertion, .approveUser: true
        default: false
        }
    }
}

extension EffectWriting {
    /// Counts one use of the join link, by the user who was just admitted. If many users come at
    /// once, this statement decides who gets the last use. If no use is left, the call runs again,
    /// and the rules refuse.
    private mutating func use(joinLink link: UUID) throws {
        guard let userID else { throw ProvisioningRace() }
        let taken = change.ask(
            """
            UPDATE join_links SET uses = uses + 1, version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(link) AND uses < max_uses
                AND revoked_at IS NULL AND expires_at > \(now)
            RETURNING uses
            """)
        change.queryLater(
            """
            UPDATE users SET source = \(User.Source.joinLink), join_link_id = \(link)
            WHERE tenant_id = \(tenant) AND id = \(userID)
            """)
        rests.append { writing in
            guard try await taken.rows().count == 1 else { throw ProvisioningRace() }
            writing.writtenUser = nil
            var changes = AuditChanges()
            changes.add("user", nil, userID.description)
            try await writing.audit(.joinLinkUsed, "join_link", link, link.description, changes)
        }
    }
}

/// Effects that are stored for a later call of the same person: reservations and choices.
extension EffectWriting {
    /// Stores a reservation. The reservation includes the link grant, since later events do not
    /// name the grant. The grant is used once the address is proved.
    private mutating func reserve(_ tenant: UUID?, _ invite: UUID?, _ joinLink: UUID?) {
        let key = attempt.identity
        let caller = call.caller ?? .platform
        let made = change.ask(
            """
            INSERT INTO reservations (caller, provider, issuer, subject, tenant_id, invite_id,
                join_link_id, email_key, expires_at, link_grant)
            VALUES (\(caller), \(key.provider.rawValue), \(key.issuer), \(key.subject),
                \(tenant), \(invite), \(joinLink), \(address),
                \(now.adding(seconds: Reservation.lifetime)),
                \(call.linkGrant.map(TenantToken.hash)))
            ON CONFLICT (caller, provider, issuer, subject) DO UPDATE
            SET tenant_id = excluded.tenant_id, invite_id = excluded.invite_id,
                join_link_id = excluded.join_link_id,
                email_key = excluded.email_key, expires_at = excluded.expires_at,
                link_grant = excluded.link_grant, alias = NULL
            RETURNING number
            """)
        rests.append { writing in
            writing.trim(caller, number: try await made.rows().only { try $0.get(0) })
            try await writing.auditSignUp(.signUpReserved)
        }
    }

    private mutating func endReservation(of caller: UUID) {
        let key = attempt.identity
        change.queryLater(
            """
            DELETE FROM reservations WHERE caller = \(caller)
                AND provider = \(key.provider.rawValue) AND issuer = \(key.issuer)
                AND subject = \(key.subject)
            """)
        rests.append { try await $0.auditSignUp(.signUpCompleted) }
    }

    private mutating func record(choices tenants: [UUID]) {
        let end = now.adding(seconds: Provisioning.choicesFor)
        for id in tenants {
            change.queryLater(
                """
                INSERT INTO pending_choices (identity, tenant_id, email_key, created_at,
                    expires_at)
                VALUES (substring(\(identityKey)::bytea FOR 36), \(id), \(address), \(now), \(end))
                ON CONFLICT (identity, tenant_id) DO UPDATE
                SET email_key = excluded.email_key, expires_at = excluded.expires_at
                """)
        }
        rests.append { try await $0.auditSignUp(.signUpDeferred) }
    }

    private mutating func remove(choice tenant: UUID) {
        change.queryLater(
            """
            DELETE FROM pending_choices
            WHERE identity = ANY (person_keys(\(identityKey))) AND tenant_id = \(tenant)
            """)
        rests.append { try await $0.auditSignUp(.signUpChosen) }
    }

    private func auditSignUp(_ action: AuditAction) async throws {
        try await audit(action, "identity", change.tenant, attempt.identity.provider.rawValue)
    }

    /// Deletes the caller's oldest reservations beyond its limits. The limit of a pool is checked
    /// only once per `step` reservations, so that a large number of rows is not counted at every
    /// sign-up.
    private func trim(_ caller: UUID, number: Int64) {
        let limits = database.options.limits
        change.queryLater(
            """
            DELETE FROM reservations WHERE caller = \(caller) AND email_key = \(address)
                AND number IN (SELECT number FROM reservations
                    WHERE caller = \(caller) AND email_key = \(address)
                    ORDER BY expires_at DESC, number DESC
                    OFFSET \(Int64(limits.reservationsPerAddress)))
            """)
        let step = max(1, limits.reservationsPerPool / 1000)
        guard number % Int64(step) == 0 else { return }
        let pool = attempt.identity.issuer
        change.queryLater(
            """
            DELETE FROM reservations WHERE caller = \(caller) AND issuer = \(pool)
                AND number IN (SELECT number FROM reservations
                    WHERE caller = \(caller) AND issuer = \(pool)
                    ORDER BY expires_at DESC, number DESC
                    OFFSET \(Int64(limits.reservationsPerPool - step + 1)))
            """)
    }
}

/// The upstreams that appeared in a pool's events. No native user may take a name that begins with
/// one of them.
extension Change {
    /// The maximum number of upstreams that are stored for one pool and one caller.
    private static let shownLimit = 50

    /// The upstreams that appeared in calls of the provider's owner or of this caller.
    func shownUpstreams(
        of provider: Provider, by call: ProvisioningCall
    ) async throws(PostgresError) -> [String] {
        let showers = [provider.tenantID ?? .platform, call.caller ?? .platform]
        let rows = try await query(
            """
            SELECT DISTINCT unnest(names) FROM shown_upstreams
            WHERE provider_id = \(provider.id) AND tenant_id = ANY(\(showers))
            """)
        var names: [String] = []
        for row in rows { names.append(try row.get(0)) }
        return names
    }

    /// Stores the upstream of a federated attempt. An upstream in a hook's call is stored for the
    /// caller. An upstream in a token is stored for the provider's owner, since the pool itself has
    /// signed the token. Must be called last, since the row stays locked until the transaction
    /// ends.
    func noteUpstream(
        of named: ResolvedAttempt, by call: ProvisioningCall
    ) async throws(PostgresError) {
        guard let provider = named.provider, provider.kind == .cognito,
            let name = named.attempt.upstream, provider.upstream(named: name) == nil
        else { return }
        let shower = call.isInPerson ? provider.tenantID : call.caller
        let shown = asciiLowercased(name)
        let known = try await query(
            """
            SELECT 1 FROM shown_upstreams
            WHERE provider_id = \(provider.id) AND tenant_id = \(shower ?? .platform)
                AND (\(shown) = ANY(names) OR cardinality(names) >= \(raw: "\(Self.shownLimit)"))
            """)
        guard known.isEmpty else { return }
        try await query(
            """
            INSERT INTO shown_upstreams AS s (provider_id, tenant_id, names)
            VALUES (\(provider.id), \(shower ?? .platform), \([shown]))
            ON CONFLICT (provider_id, tenant_id) DO UPDATE SET names = s.names || excluded.names
            WHERE NOT s.names @> excluded.names
                AND cardinality(s.names) < \(raw: "\(Self.shownLimit)")
            """)
    }
}
