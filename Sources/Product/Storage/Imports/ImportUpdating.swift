import Domain
import JSON
import Postgres
import Text

extension Change {
    /// The row of a known user after the import's.
    func updateKnown(
        _ id: UUID, from candidate: ImportCandidate, by rules: ImportRules, in database: Database
    ) async throws -> JobResult {
        let before = try await lockUser(id)
        let row = candidate.row
        let user = candidate.user.asUpdate(
            of: before, hasPassword: try await hasPassword(before.id))
        var after = before
        // A name of before the rule about its ends is the same name.
        if let name = user.name, before.name.map(DisplayText.stripped) != name { after.name = name }
        if let role = user.role { after.role = role }
        if let isKept = user.isKept { after.isKept = isKept }
        // A foreign id takes the place of no external id.
        if let externalID = user.externalID,
            !candidate.idIsForeign || before.externalID == nil
                || candidate.user.id != externalID
        {
            after.externalID = externalID
        }
        after.attributes.public = before.attributes.public.merging(.object(user.publicAttributes))
        after.attributes.private =
            before.attributes.private.merging(.object(user.privateAttributes))
        let edited = try await editUser(before, to: after)
        let secrets = try await fillIn(edited, from: user)
        let identities = try await linkAll(user.identities, to: edited, rules, database)
        let end = try await lockUser(id)
        guard end.version != before.version else {
            return JobResult(
                row: row, .unchanged, detail: user.note, targetType: "user", targetID: id)
        }
        return JobResult(
            row: row, .done, detail: user.note, targetType: "user", targetID: id,
            effect: ImportEffect.updated(
                before, secrets: secrets, identities: identities, version: end.version
            ).document)
    }

    private func hasPassword(_ user: UUID) async throws -> Bool {
        try await query(
            """
            SELECT password_hash IS NOT NULL FROM users
            WHERE tenant_id = \(tenant) AND id = \(user)
            """
        ).only { row throws(PostgresError) in try row.get(0, as: Bool.self) }
    }

    /// Sets what the user does not have yet: a password, and since when the address is proved. An
    /// import replaces neither. Who waited for a first sign-in has one then.
    private func fillIn(_ row: UserRow, from user: ImportedUser) async throws -> ImportedSecrets {
        let verifiedAt = user.emailVerified ? now : nil
        let changed = try await query(
            """
            WITH old AS (SELECT status, password_hash, email_verified_at FROM users
                WHERE tenant_id = \(tenant) AND id = \(row.id))
            UPDATE users u SET
                password_hash = coalesce(u.password_hash, \(user.passwordHash)),
                password_changed_at = CASE WHEN u.password_hash IS NULL
                        AND \(user.passwordHash)::text IS NOT NULL THEN \(now)
                    ELSE u.password_changed_at END,
                status = CASE WHEN u.status = 'pending' AND u.source IN ('import', 'operator')
                        AND u.password_hash IS NULL AND \(user.passwordHash)::text IS NOT NULL
                    THEN 'active' ELSE u.status END,
                resumed_at = \(now), email_verified_at = coalesce(u.email_verified_at, \(verifiedAt)),
                version = u.version + 1, updated_at = \(now)
            FROM old
            WHERE u.tenant_id = \(tenant) AND u.id = \(row.id)
                AND (u.password_hash IS NULL AND \(user.passwordHash)::text IS NOT NULL
                    OR u.email_verified_at IS NULL AND \(verifiedAt)::timestamptz IS NOT NULL)
            RETURNING old.password_hash IS NULL AND u.password_hash IS NOT NULL,
                old.email_verified_at IS NULL AND u.email_verified_at IS NOT NULL,
                old.status <> u.status
            """
        ).first
        guard let changed else { return ImportedSecrets() }
        let secrets = ImportedSecrets(
            password: try changed.get(0), proof: try changed.get(1), activation: try changed.get(2))
        try await auditSecrets(secrets, of: row)
        return secrets
    }

    private func auditSecrets(_ secrets: ImportedSecrets, of row: UserRow) async throws {
        var changes = AuditChanges()
        if secrets.proof { changes.add("email_verified_at", nil, now.description) }
        if secrets.password { changes.add("password", nil, "imported") }
        if secrets.activation { changes.add("status", row.status, .active) }
        try await audit(.userUpdated, row.target, changes)
    }

    /// The ids of those that the user did not have.
    private func linkAll(
        _ identities: [ImportedIdentity], to user: UserRow, _ rules: ImportRules,
        _ database: Database
    ) async throws -> [UUID] {
        var made: [UUID] = []
        for identity in identities
        where !user.identities.contains(where: { $0.isSameSignIn(as: identity) }) {
            made.append(
                try await linkIdentity(
                    user, provider: identity.provider, issuer: identity.issuer,
                    subject: identity.subject, email: identity.email,
                    isAssertedByTenant: rules.isAssertedByTenant, isManual: true, isTold: false,
                    database: database
                ).identity)
        }
        return made
    }
}
