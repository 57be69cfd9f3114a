import Domain
import Postgres
import Text

/// Thrown if a row changed under a decision in spite of the locks: the whole call runs again.
struct ProvisioningRace: Error {}

/// Writes a verdict's effects, one audit row for each, in the verdict's tenant.
struct EffectWriting: Sendable {
    let database: Database
    let call: ProvisioningCall
    let attempt: Attempt
    let identityKey: [UInt8]
    let isAddressTrusted: Bool
    /// The identity is asserted by a tenant's provider or credential.
    let isAssertedByTenant: Bool
    /// Whether the address was proved: a link that an operator saw proves no mailbox.
    let provesAddress: Bool
    let change: Change
    /// The identity is not the one of the user's first sign-in.
    let addsToActiveUser: Bool
    /// The verdict's user, or the one just created.
    private(set) var userID: UUID?
    private(set) var identityID: UUID?

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

    mutating func write(_ effect: Effect) async throws {
        switch effect {
        case .removeUnreachableRow(let user): try await remove(user)
        case .wipeUnverifiedCredentials(let user): try await wipe(user)
        case .createUser(let status, let role, let source):
            if source == .approval { try await enterWaitingRoom() }
            try await create(status, role, source)
        case .activateUser(let user, let role):
            try await settle(user, .active, role, .userActivated)
        case .admitByAssertion(let user, let role):
            try await settle(user, .active, role, .userActivated, provesAddress: false)
        case .approveUser(let user, let role):
            try await settle(user, .active, role, .userApproved)
        case .awaitApproval(let user, let role):
            try await enterWaitingRoom()
            try await settle(user, .pending, role, .userApprovalRequested)
        case .tombstoneIdentity(let identity):
            try await change.query(
                "DELETE FROM identities WHERE tenant_id = \(tenant) AND id = \(identity)")
            try await audit(.identityRemoved, "identity", identity, identity.description)
        case .linkIdentity(let user): try await link(user)
        case .acceptInvite(let invite, let role, let downgraded):
            var changes = AuditChanges()
            changes.add("role", downgraded ? "wider than the inviter's" : nil, role.rawValue)
            try await accept(invite, changes)
        case .markInviteAccepted(let invite, let user):
            userID = userID ?? user
            try await accept(invite, AuditChanges())
        case .auditOtherAddress(let invite):
            try await change.audit(
                .inviteOtherAddress, AuditTarget("invite", invite, attempt.email?.key ?? ""))
        case .consumeLinkGrant(let grant):
            guard try await change.consumeLinkGrant(grant) else { throw ProvisioningRace() }
            try await audit(.linkGrantUsed, "link_grant", grant, grant.description)
        case .useJoinLink(let link): try await use(joinLink: link)
        case .reserve, .endReservation, .recordChoices, .removeChoice:
            try await keep(effect)
        }
    }

    private func audit(
        _ action: AuditAction, _ type: String, _ id: UUID, _ name: String,
        _ changes: AuditChanges = AuditChanges()
    ) async throws {
        try await change.audit(action, AuditTarget(type, id, name), changes)
    }

    private func remove(_ user: UUID) async throws {
        try await change.query(
            "DELETE FROM users WHERE tenant_id = \(tenant) AND id = \(user) AND status = 'pending'")
        try await change.query("SELECT user_search_drop(\(user))")
        try await audit(.userRemoved, "user", user, attempt.email?.key ?? "")
    }

    private func wipe(_ user: UUID) async throws {
        try await change.query(
            """
            UPDATE users SET password_hash = NULL, password_awaited = false, pin_hash = NULL,
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user)
            """)
        try await change.endResets(of: user)
        for table in ["sessions", "link_grants", "known_devices"] as [SQL] {
            try await change.query(
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
            try await change.query("SELECT directory_remove_person(\(key))")
        }
        try await audit(.userCredentialsWiped, "user", user, attempt.email?.key ?? "")
    }

    private mutating func create(
        _ status: User.Status, _ role: UserRole, _ source: User.Source
    ) async throws {
        guard let email = attempt.email else { throw ProvisioningRace() }
        let new = NewUser(
            email: email.display, emailKey: email.key, name: call.name, role: role, status: status,
            source: source, emailVerifiedAt: provesAddress ? now : nil,
            lastSignInAt: signedIn(status == .active))
        guard try await change.insertUser(new, database) else { throw ProvisioningRace() }
        userID = new.id
    }

    /// Activates a pending row. Its name stays.
    private func settle(
        _ user: UUID, _ status: User.Status, _ role: UserRole, _ action: AuditAction,
        provesAddress: Bool? = nil
    ) async throws {
        let proves = provesAddress ?? self.provesAddress
        let source: User.Source? = status == .pending ? .approval : nil
        let signedIn = signedIn(status == .active)
        let rows = try await change.query(
            """
            UPDATE users u SET status = \(status), role = \(role),
                source = coalesce(\(source), u.source),
                name = coalesce(nullif(u.name, ''), \(call.name)),
                email_verified_at = CASE WHEN \(proves) AND u.email_key = \(attempt.email?.key)
                    THEN coalesce(u.email_verified_at, \(now)) ELSE u.email_verified_at END,
                last_sign_in_at = coalesce(\(signedIn), u.last_sign_in_at),
                resumed_at = CASE WHEN \(status == .active) THEN \(now) ELSE u.resumed_at END,
                version = u.version + 1, updated_at = \(now)
            FROM (SELECT id, status, role FROM users
                WHERE tenant_id = \(tenant) AND id = \(user)) AS was
            WHERE u.tenant_id = \(tenant) AND u.id = was.id AND u.status = 'pending'
            RETURNING was.status, was.role, u.email, u.email_key, u.name, u.created_at
            """)
        guard let row = rows.first else { throw ProvisioningRace() }
        try await change.putInSearch(
            user, emailKey: row.get(3), name: row.get(4), createdAt: row.get(5))
        var changes = AuditChanges()
        changes.add("status", try row.get(0), status)
        changes.add("role", try row.get(1), role)
        try await audit(action, "user", user, try row.get(2), changes)
    }

    /// Accepting an invite at its page is not a sign-in yet.
    private func signedIn(_ isActive: Bool) -> Timestamp? {
        isActive && attempt.trigger != .invitePage ? now : nil
    }

    private mutating func link(_ user: UUID?) async throws {
        guard let user = user ?? userID else { throw ProvisioningRace() }
        let id = UUID.random()
        let key = attempt.identity
        let rows = try await change.query(
            """
            INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, email,
                email_verified, email_vouched, created_at, last_used_at, tenants_word)
            VALUES (\(tenant), \(id), \(user), \(key.provider.rawValue), \(key.issuer),
                \(key.subject), \(attempt.email?.display), \(provesAddress), \(isAddressTrusted),
                \(now), \(now), \(isAssertedByTenant))
            ON CONFLICT DO NOTHING RETURNING id
            """)
        guard rows.count == 1 else { throw ProvisioningRace() }
        change.queryLater("SELECT directory_add_person(\(identityKey))")
        try await change.endBar(on: (key.provider.rawValue, key.issuer, key.subject))
        identityID = id
        if let alias = call.alias { try await change.bind(alias, to: id, key) }
        if let hash = call.passwordHash {
            change.queryLater(
                """
                UPDATE users SET password_hash = \(hash), password_awaited = false
                WHERE tenant_id = \(tenant) AND id = \(user)
                """)
        }
        if addsToActiveUser, let email = try await address(of: user) {
            try await change.tellOfSignIn(at: key.provider.rawValue, user, email, in: database)
        }
        try await audit(.identityLinked, "identity", id, key.provider.rawValue)
    }

    private func address(of user: UUID) async throws(PostgresError) -> String? {
        let rows = try await change.query(
            "SELECT email FROM users WHERE tenant_id = \(tenant) AND id = \(user)")
        return try rows.first?.get(0)
    }

    /// Only once: a concurrent attempt finds no pending row.
    private func accept(_ invite: UUID, _ changes: AuditChanges) async throws {
        let rows = try await change.query(
            """
            UPDATE invites SET status = 'accepted', accepted_at = \(now),
                accepted_user_id = \(userID), accepted_identity_id = \(identityID),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(invite) AND status = 'pending'
                AND expires_at > \(now)
            RETURNING email, external_id, user_id, public_attributes, private_attributes
            """)
        guard let row = rows.first else { throw ProvisioningRace() }
        let email: String = try row.get(0)
        var changes = changes
        changes.add("status", "pending", "accepted")
        let given = AttributePair(public: try row.get(3), private: try row.get(4))
        if let userID { try await change.give(given, to: userID, &changes) }
        try await audit(.inviteAccepted, "invite", invite, email, changes)
        guard let userID, let externalID: String = try row.get(1, as: String?.self) else { return }
        try await change.pass(externalID, from: row.get(2), to: userID, email)
    }
}
