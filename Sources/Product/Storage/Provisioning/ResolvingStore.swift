import Domain
import JSON
import Postgres
import Text

/// How an operator resolves a conflict over an account whose address was never proved, after
/// another person's sign-in proved that address.
package enum Resolution: Sendable {
    /// The account belongs to the newcomer. The new identity is linked, and every other way to sign
    /// in to the account is removed.
    case giveAccount
    /// The account does not belong to the newcomer. Its address is replaced with the given one,
    /// which is not proved. The newcomer's next attempt is decided anew.
    case openAnother(EmailAddress)
}

/// A decision that an operator resolved, and the account as it is now.
package struct ResolvedDecision: Sendable {
    /// The refusal that was resolved; it is not changed.
    package var decision: DecisionRow
    package var user: UserRow
    /// The addresses to notify: the account's, and those of the identities that were removed.
    package var recipients: [String]
}

extension DecisionRow {
    /// Whether the decision refused the attempt because no one ever proved that the account's owner
    /// has the account's address.
    var isForResolving: Bool {
        guard outcome == "refused", reason == Reason.identityLinkRequired.rawValue else {
            return false
        }
        return (trace.array ?? []).contains {
            $0["result"]?.string == TraceEntry.addressUnproved
        }
    }
}

extension Change {
    /// Resolves the conflict of a decision. Throws 404 if this tenant has no such decision, 409
    /// `conflict` if the decision has nothing to resolve or the account has changed since, and 409
    /// `email_taken` if another user has the new address.
    package func resolve(
        _ id: UUID, _ resolution: Resolution, isAssertedByTenant: Bool
    ) async throws -> ResolvedDecision {
        let (decision, emailKey) = try await unprovedDecision(id)
        guard let userID = decision.userID else { throw Self.nothingToResolve }
        let identity = database.personKey(
            provider: decision.provider, issuer: decision.issuer, subject: decision.subject)
        try await lockPerson(identity: identity, emailKey: emailKey)
        let user = try await lockUser(userID)
        let isTaken = try await !query(
            """
            SELECT 1 FROM identities WHERE tenant_id = \(tenant)
                AND provider = \(decision.provider) AND issuer = \(decision.issuer)
                AND subject = \(decision.subject)
            """
        ).isEmpty
        guard user.status == .active, user.emailVerifiedAt == nil, !isTaken,
            sameBytes(user.emailKey, emailKey)
        else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "The account or the sign-in has changed since the decision.", id: userID)
        }
        var change = self
        change.actor.decisionID = id
        switch resolution {
        case .giveAccount:
            return try await change.give(
                user, to: decision, isAssertedByTenant: isAssertedByTenant)
        case .openAnother(let email):
            let moved = try await change.move(user, to: email)
            return ResolvedDecision(decision: decision, user: moved, recipients: [])
        }
    }

    /// A decision that refused an attempt because the account's address was never proved, and the
    /// key of that address. Throws if this is not such a decision.
    private func unprovedDecision(
        _ id: UUID
    ) async throws -> (decision: DecisionRow, emailKey: String) {
        let rows = try await query(
            """
            SELECT \(DecisionRow.columns(of: tenant)), coalesce(email_key, '') AS address FROM decisions
            WHERE tenant_id = \(tenant) AND id = \(id)
            """)
        guard let row = rows.first else { throw StorageFailure.notFound("decision") }
        let decision = try DecisionRow(row)
        let key: String = try row.get("address")
        guard !key.isEmpty, decision.isForResolving else { throw Self.nothingToResolve }
        return (decision, key)
    }

    private static let nothingToResolve = StorageFailure.conflict(
        code: "conflict",
        detail: "Only an `identity_link_required` decision about an account whose address was "
            + "never proved can be resolved.", id: nil)

    /// Locks the person as a sign-in does, in the same order.
    private func lockPerson(
        identity: [UInt8], emailKey: String
    ) async throws(PostgresError) {
        let address = database.personKey(emailKey: emailKey)
        try await query(Self.lockingPeople(identities: identity, addresses: address))
    }

    private func give(
        _ user: UserRow, to decision: DecisionRow, isAssertedByTenant: Bool
    ) async throws -> ResolvedDecision {
        try await query(
            """
            UPDATE users SET password_hash = NULL, password_awaited = false, pin_hash = NULL,
                must_change_password = false, email_verified_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user.id)
            """)
        try await endResets(of: user.id)
        for table in ["sessions", "link_grants", "known_devices"] as [SQL] {
            try await query(
                "DELETE FROM \(table) WHERE tenant_id = \(tenant) AND user_id = \(user.id)")
        }
        _ = try await revokeAPIKeys(owner: user.id, reason: "The account was given to another.")
        var recipients = [user.email]
        for identity in user.identities where identity.linkedByType == nil {
            try await query(
                "DELETE FROM identities WHERE tenant_id = \(tenant) AND id = \(identity.id)")
            try await invalidate(identity)
            try await bar(identity, of: user)
            try await audit(
                .identityUnlinked,
                AuditTarget("identity", identity.id, "\(identity.provider) \(identity.subject)"))
            if let email = identity.email, !recipients.contains(email) { recipients.append(email) }
        }
        var changes = AuditChanges()
        changes.add("email_verified_at", nil, now.description)
        try await audit(.userAccountGiven, user.target, changes)
        let linked = try await linkIdentity(
            user, provider: decision.provider, issuer: decision.issuer,
            subject: decision.subject, email: decision.email,
            isAssertedByTenant: isAssertedByTenant,
            isManual: true)
        return ResolvedDecision(decision: decision, user: linked.user, recipients: recipients)
    }

    private func move(
        _ user: UserRow, to email: EmailAddress
    ) async throws -> UserRow {
        try await requireUnreserved(email.key, but: user.id)
        let rows = try await query(
            """
            UPDATE users SET email = \(email.original), email_key = \(email.key),
                email_verified_at = NULL, version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user.id) AND NOT EXISTS (
                SELECT 1 FROM users o WHERE o.tenant_id = \(tenant)
                    AND o.email_key = \(email.key) AND o.status <> 'deleted')
            RETURNING \(UserRow.columns(of: tenant))
            """)
        guard let row = rows.first else { throw try await emailTaken(email.key) }
        let moved = try UserRow(row)
        try await query(
            """
            DELETE FROM former_addresses
            WHERE tenant_id = \(tenant) AND email_key = \(email.key)
            """)
        // Ends the links that were sent to the old address, since its mailbox may be another
        // person's.
        try await endResets(of: user.id)
        try await query(
            "DELETE FROM link_grants WHERE tenant_id = \(tenant) AND user_id = \(user.id)")
        try await putInSearch(moved)
        try await removeFromDirectory(user.emailKey)
        try await query("SELECT directory_add_person(\(database.personKey(emailKey: email.key)))")
        var changes = AuditChanges()
        changes.add("email", user.email, moved.email)
        try await audit(.userEmailChanged, moved.target, changes)
        return moved
    }
}
